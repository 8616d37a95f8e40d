/* Made by tools/gen_ops_h.py from ops.py: change the table there and run `make ops`. */
#define OP_COUNT 77

/* For each op, the inputs in which it is a step (a bit for each): its partial is 0 everywhere. */
#define OP_STEPS_ROWS {0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 4, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 7, 7, 0, 0, 0, 0, 0, 0}

static inline double mg_mod(double a, double b) {
    double mod = fmod(a, b);
    if (b == 0.0) return NAN;
    if (mod == 0.0) return copysign(0.0, b);
    return (b < 0.0) != (mod < 0.0) ? mod + b : mod;
}

static inline double mg_floordiv(double a, double b) {
    double mod = fmod(a, b), div = (a - mod) / b, whole;
    if (b == 0.0) return floor(a / b);
    if (mod != 0.0 && (b < 0.0) != (mod < 0.0)) div -= 1.0;
    if (div == 0.0) return copysign(0.0, a / b);
    whole = floor(div);
    return div - whole > 0.5 ? whole + 1.0 : whole;
}

static inline double mg_philox(double key, double row, double draw) {
    const double all[3] = {key, row, draw}, least[3] = {0.0, 0.0, -1.0};
    for (int i = 0; i < 3; i++)
        if (!(all[i] >= least[i] && all[i] < 9007199254740992.0) || all[i] != floor(all[i])) return NAN;
    int64_t number = (int64_t)draw;
    uint64_t k = (uint64_t)(int64_t)key, r = (uint64_t)(int64_t)row;
    uint64_t pair = ((uint64_t)number & ~(uint64_t)1) >> 1 | ((uint64_t)number & (uint64_t)1 << 63);
    uint32_t c[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), (uint32_t)r, (uint32_t)(r >> 32)};
    uint32_t k0 = (uint32_t)k, k1 = (uint32_t)(k >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)0xD2511F53u * c[0], right = (uint64_t)0xCD9E8D57u * c[2];
        c[0] = (uint32_t)(right >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)right;
        c[2] = (uint32_t)(left >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)left;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    int odd = (int)(number & 1);
    uint64_t word = (uint64_t)c[odd * 2] << 32 | c[odd * 2 + 1];
    return (double)(word >> 11) * 0x1p-53;
}

enum {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_FMOD,
    OP_REMAINDER,
    OP_FMA,
    OP_NEG,
    OP_ABS,
    OP_COPYSIGN,
    OP_MIN,
    OP_MAX,
    OP_EXP,
    OP_EXP2,
    OP_EXPM1,
    OP_LOG,
    OP_LOG1P,
    OP_LOG2,
    OP_LOG10,
    OP_SQRT,
    OP_CBRT,
    OP_SIN,
    OP_COS,
    OP_TAN,
    OP_ASIN,
    OP_ACOS,
    OP_ATAN,
    OP_ATAN2,
    OP_SINH,
    OP_COSH,
    OP_TANH,
    OP_ASINH,
    OP_ACOSH,
    OP_ATANH,
    OP_HYPOT,
    OP_ERF,
    OP_ERFC,
    OP_SIGMOID,
    OP_SIGMOID_SLOPE,
    OP_RELU,
    OP_LEAKY_RELU,
    OP_ELU,
    OP_SOFTPLUS,
    OP_SILU,
    OP_GELU,
    OP_GAMMA,
    OP_LGAMMA,
    OP_DIGAMMA,
    OP_ZETA,
    OP_RELATIVE,
    OP_QUOTIENT,
    OP_RELATIVE_BASE,
    OP_POWER,
    OP_HYPOT_SLOPE,
    OP_FLOOR,
    OP_CEIL,
    OP_ROUND,
    OP_TRUNC,
    OP_SIGN,
    OP_WHERE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_PHILOX,
    OP_NORMAL,
    OP_PROBIT,
    OP_SUM,
    OP_PROD,
    OP_MEAN,
    OP_DOT,
    OP_LOGSUMEXP,
};

static inline double value_add(double a, double b) {
    double t0 = a + b;
    return t0;
}

static inline double partial0_add(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 1.0;
}

static inline double partial1_add(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 1.0;
}

static inline double value_sub(double a, double b) {
    double t0 = a - b;
    return t0;
}

static inline double partial0_sub(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 1.0;
}

static inline double partial1_sub(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return -1.0;
}

static inline double value_mul(double a, double b) {
    double t0 = a * b;
    return t0;
}

static inline double partial0_mul(double a, double b, double y) {
    (void)a;
    (void)y;
    return b;
}

static inline double partial1_mul(double a, double b, double y) {
    (void)b;
    (void)y;
    return a;
}

static inline double value_div(double a, double b) {
    double t0 = a / b;
    return t0;
}

static inline double partial0_div(double a, double b, double y) {
    (void)a;
    (void)y;
    double t0 = 1.0 / b;
    return t0;
}

static inline double partial1_div(double a, double b, double y) {
    (void)a;
    double t0 = y / b;
    double t1 = -t0;
    return t1;
}

static inline double value_floordiv(double a, double b) {
    double t0 = mg_floordiv(a, b);
    return t0;
}

static inline double partial0_floordiv(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_floordiv(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_mod(double a, double b) {
    double t0 = mg_mod(a, b);
    return t0;
}

static inline double partial0_mod(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 1.0;
}

static inline double partial1_mod(double a, double b, double y) {
    (void)y;
    double t0 = mg_floordiv(a, b);
    double t1 = -t0;
    return t1;
}

static inline double value_pow(double a, double b) {
    double t0 = pow(a, b);
    return t0;
}

static inline double partial0_pow(double a, double b, double y) {
    (void)y;
    double t0 = fabs(a);
    double t1 = t0 > 0.0 ? 1.0 : 0.0;
    double t2 = b == 0.0 ? 1.0 : 0.0;
    double t3 = t1 != 0.0 ? 0.0 : t2;
    double t4 = t3 != 0.0 ? 1.0 : a;
    double t5 = b - 1.0;
    double t6 = pow(t4, t5);
    double t7 = b * t6;
    double t8 = t3 != 0.0 ? 0.0 : t7;
    return t8;
}

static inline double partial1_pow(double a, double b, double y) {
    double t0 = a == 0.0 ? 1.0 : 0.0;
    double t1 = b >= 0.0 ? 1.0 : 0.0;
    double t2 = a == INFINITY ? 1.0 : 0.0;
    double t3 = b < 0.0 ? 1.0 : 0.0;
    double t4 = t2 * t3;
    double t5 = t0 != 0.0 ? t1 : t4;
    double t6 = t5 != 0.0 ? 1.0 : a;
    double t7 = log(t6);
    double t8 = y * t7;
    double t9 = t5 != 0.0 ? 0.0 : t8;
    return t9;
}

static inline double value_fmod(double a, double b) {
    double t0 = fmod(a, b);
    return t0;
}

static inline double partial0_fmod(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 1.0;
}

static inline double partial1_fmod(double a, double b, double y) {
    double t0 = a - y;
    double t1 = t0 / b;
    double t2 = rint(t1);
    double t3 = -t2;
    return t3;
}

static inline double value_remainder(double a, double b) {
    double t0 = remainder(a, b);
    return t0;
}

static inline double partial0_remainder(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 1.0;
}

static inline double partial1_remainder(double a, double b, double y) {
    double t0 = a - y;
    double t1 = t0 / b;
    double t2 = rint(t1);
    double t3 = -t2;
    return t3;
}

static inline double value_fma(double a, double b, double c) {
    double t0 = fma(a, b, c);
    return t0;
}

static inline double partial0_fma(double a, double b, double c, double y) {
    (void)a;
    (void)c;
    (void)y;
    return b;
}

static inline double partial1_fma(double a, double b, double c, double y) {
    (void)b;
    (void)c;
    (void)y;
    return a;
}

static inline double partial2_fma(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 1.0;
}

static inline double value_neg(double a) {
    double t0 = -a;
    return t0;
}

static inline double partial0_neg(double a, double y) {
    (void)a;
    (void)y;
    return -1.0;
}

static inline double value_abs(double a) {
    double t0 = fabs(a);
    return t0;
}

static inline double partial0_abs(double a, double y) {
    (void)y;
    double t0 = a == 0.0 ? 1.0 : 0.0;
    double t1 = a > 0.0 ? 1.0 : 0.0;
    double t2 = a < 0.0 ? 1.0 : 0.0;
    double t3 = t2 != 0.0 ? (-1.0) : a;
    double t4 = t1 != 0.0 ? 1.0 : t3;
    double t5 = t0 != 0.0 ? 0.0 : t4;
    return t5;
}

static inline double value_copysign(double a, double b) {
    double t0 = b == 0.0 ? 1.0 : 0.0;
    double t1 = 1.0 / b;
    double t2 = t0 != 0.0 ? t1 : b;
    double t3 = t2 < 0.0 ? 1.0 : 0.0;
    double t4 = fabs(a);
    double t5 = -t4;
    double t6 = t3 != 0.0 ? t5 : t4;
    return t6;
}

static inline double partial0_copysign(double a, double b, double y) {
    (void)y;
    double t0 = a == 0.0 ? 1.0 : 0.0;
    double t1 = b == 0.0 ? 1.0 : 0.0;
    double t2 = 1.0 / b;
    double t3 = t1 != 0.0 ? t2 : b;
    double t4 = t3 < 0.0 ? 1.0 : 0.0;
    double t5 = t4 != 0.0 ? (-1.0) : 1.0;
    double t6 = a > 0.0 ? 1.0 : 0.0;
    double t7 = a < 0.0 ? 1.0 : 0.0;
    double t8 = t7 != 0.0 ? (-1.0) : a;
    double t9 = t6 != 0.0 ? 1.0 : t8;
    double t10 = t5 * t9;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    return t11;
}

static inline double partial1_copysign(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_min(double a, double b) {
    double t0 = a <= b ? 1.0 : 0.0;
    double t1 = a > b ? 1.0 : 0.0;
    double t2 = a + b;
    double t3 = t1 != 0.0 ? b : t2;
    double t4 = t0 != 0.0 ? a : t3;
    return t4;
}

static inline double partial0_min(double a, double b, double y) {
    (void)y;
    double t0 = a > b ? 1.0 : 0.0;
    double t1 = a == b ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 0.5 : 1.0;
    double t3 = t0 != 0.0 ? 0.0 : t2;
    return t3;
}

static inline double partial1_min(double a, double b, double y) {
    (void)y;
    double t0 = a < b ? 1.0 : 0.0;
    double t1 = a == b ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 0.5 : 1.0;
    double t3 = t0 != 0.0 ? 0.0 : t2;
    return t3;
}

static inline double value_max(double a, double b) {
    double t0 = a >= b ? 1.0 : 0.0;
    double t1 = a < b ? 1.0 : 0.0;
    double t2 = a + b;
    double t3 = t1 != 0.0 ? b : t2;
    double t4 = t0 != 0.0 ? a : t3;
    return t4;
}

static inline double partial0_max(double a, double b, double y) {
    (void)y;
    double t0 = a < b ? 1.0 : 0.0;
    double t1 = a == b ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 0.5 : 1.0;
    double t3 = t0 != 0.0 ? 0.0 : t2;
    return t3;
}

static inline double partial1_max(double a, double b, double y) {
    (void)y;
    double t0 = a > b ? 1.0 : 0.0;
    double t1 = a == b ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 0.5 : 1.0;
    double t3 = t0 != 0.0 ? 0.0 : t2;
    return t3;
}

static inline double value_exp(double a) {
    double t0 = exp(a);
    return t0;
}

static inline double partial0_exp(double a, double y) {
    (void)a;
    return y;
}

static inline double value_exp2(double a) {
    double t0 = exp2(a);
    return t0;
}

static inline double partial0_exp2(double a, double y) {
    (void)a;
    double t0 = 0.6931471805599453 * y;
    return t0;
}

static inline double value_expm1(double a) {
    double t0 = expm1(a);
    return t0;
}

static inline double partial0_expm1(double a, double y) {
    (void)y;
    double t0 = exp(a);
    return t0;
}

static inline double value_log(double a) {
    double t0 = log(a);
    return t0;
}

static inline double partial0_log(double a, double y) {
    (void)y;
    double t0 = 1.0 / a;
    return t0;
}

static inline double value_log1p(double a) {
    double t0 = log1p(a);
    return t0;
}

static inline double partial0_log1p(double a, double y) {
    (void)y;
    double t0 = 1.0 + a;
    double t1 = 1.0 / t0;
    return t1;
}

static inline double value_log2(double a) {
    double t0 = log2(a);
    return t0;
}

static inline double partial0_log2(double a, double y) {
    (void)y;
    double t0 = 1.4426950408889634 / a;
    return t0;
}

static inline double value_log10(double a) {
    double t0 = log10(a);
    return t0;
}

static inline double partial0_log10(double a, double y) {
    (void)y;
    double t0 = 0.4342944819032518 / a;
    return t0;
}

static inline double value_sqrt(double a) {
    double t0 = sqrt(a);
    return t0;
}

static inline double partial0_sqrt(double a, double y) {
    (void)a;
    double t0 = 0.5 / y;
    return t0;
}

static inline double value_cbrt(double a) {
    double t0 = cbrt(a);
    return t0;
}

static inline double partial0_cbrt(double a, double y) {
    (void)a;
    double t0 = 0.3333333333333333 / y;
    double t1 = t0 / y;
    return t1;
}

static inline double value_sin(double a) {
    double t0 = sin(a);
    return t0;
}

static inline double partial0_sin(double a, double y) {
    (void)y;
    double t0 = cos(a);
    return t0;
}

static inline double value_cos(double a) {
    double t0 = cos(a);
    return t0;
}

static inline double partial0_cos(double a, double y) {
    (void)y;
    double t0 = sin(a);
    double t1 = -t0;
    return t1;
}

static inline double value_tan(double a) {
    double t0 = tan(a);
    return t0;
}

static inline double partial0_tan(double a, double y) {
    (void)a;
    double t0 = y * y;
    double t1 = 1.0 + t0;
    return t1;
}

static inline double value_asin(double a) {
    double t0 = asin(a);
    return t0;
}

static inline double partial0_asin(double a, double y) {
    (void)y;
    double t0 = -a;
    double t1 = fma(t0, a, 1.0);
    double t2 = sqrt(t1);
    double t3 = 1.0 / t2;
    return t3;
}

static inline double value_acos(double a) {
    double t0 = acos(a);
    return t0;
}

static inline double partial0_acos(double a, double y) {
    (void)y;
    double t0 = -a;
    double t1 = fma(t0, a, 1.0);
    double t2 = sqrt(t1);
    double t3 = (-1.0) / t2;
    return t3;
}

static inline double value_atan(double a) {
    double t0 = atan(a);
    return t0;
}

static inline double partial0_atan(double a, double y) {
    (void)y;
    double t0 = fabs(a);
    double t1 = t0 > 134217728.0 ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 0.0 : a;
    double t3 = t1 != 0.0 ? a : 1.0;
    double t4 = 1.0 / t3;
    double t5 = t4 / t3;
    double t6 = t2 * t2;
    double t7 = 1.0 + t6;
    double t8 = 1.0 / t7;
    double t9 = t1 != 0.0 ? t5 : t8;
    return t9;
}

static inline double value_atan2(double a, double b) {
    double t0 = atan2(a, b);
    return t0;
}

static inline double partial0_atan2(double a, double b, double y) {
    double t0 = hypot(a, b);
    double t1 = t0 == INFINITY ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 1.0 : t0;
    double t3 = t1 != 0.0 ? 0.0 : b;
    double t4 = t3 / t2;
    double t5 = t4 / t2;
    double t6 = t1 != 0.0 ? 0.0 : t5;
    return t6;
}

static inline double partial1_atan2(double a, double b, double y) {
    double t0 = hypot(b, a);
    double t1 = t0 == INFINITY ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 1.0 : t0;
    double t3 = t1 != 0.0 ? 0.0 : a;
    double t4 = t3 / t2;
    double t5 = t4 / t2;
    double t6 = t1 != 0.0 ? 0.0 : t5;
    double t7 = -t6;
    return t7;
}

static inline double value_sinh(double a) {
    double t0 = sinh(a);
    return t0;
}

static inline double partial0_sinh(double a, double y) {
    (void)y;
    double t0 = cosh(a);
    return t0;
}

static inline double value_cosh(double a) {
    double t0 = cosh(a);
    return t0;
}

static inline double partial0_cosh(double a, double y) {
    (void)y;
    double t0 = sinh(a);
    return t0;
}

static inline double value_tanh(double a) {
    double t0 = tanh(a);
    return t0;
}

static inline double partial0_tanh(double a, double y) {
    (void)y;
    double t0 = 2.0 * a;
    double t1 = fabs(t0);
    double t2 = -t1;
    double t3 = exp(t2);
    double t4 = 2.0 + t3;
    double t5 = t3 * t4;
    double t6 = 1.0 + t5;
    double t7 = t3 / t6;
    double t8 = 4.0 * t7;
    return t8;
}

static inline double value_asinh(double a) {
    double t0 = asinh(a);
    return t0;
}

static inline double partial0_asinh(double a, double y) {
    double t0 = fabs(a);
    double t1 = t0 == INFINITY ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? 0.0 : a;
    double t3 = hypot(1.0, t2);
    double t4 = 1.0 / t3;
    double t5 = t1 != 0.0 ? 0.0 : t4;
    return t5;
}

static inline double value_acosh(double a) {
    double t0 = acosh(a);
    return t0;
}

static inline double partial0_acosh(double a, double y) {
    (void)y;
    double t0 = a > 134217728.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 2.0 : a;
    double t2 = t0 != 0.0 ? a : 1.0;
    double t3 = 1.0 / t2;
    double t4 = fma(t1, t1, (-1.0));
    double t5 = sqrt(t4);
    double t6 = 1.0 / t5;
    double t7 = t0 != 0.0 ? t3 : t6;
    return t7;
}

static inline double value_atanh(double a) {
    double t0 = atanh(a);
    return t0;
}

static inline double partial0_atanh(double a, double y) {
    (void)y;
    double t0 = -a;
    double t1 = fma(t0, a, 1.0);
    double t2 = 1.0 / t1;
    return t2;
}

static inline double value_hypot(double a, double b) {
    double t0 = hypot(a, b);
    return t0;
}

static inline double partial0_hypot(double a, double b, double y) {
    double t0 = y == 0.0 ? 1.0 : 0.0;
    double t1 = fabs(a);
    double t2 = t1 == INFINITY ? 1.0 : 0.0;
    double t3 = t2 != 0.0 ? 0.0 : a;
    double t4 = t0 != 0.0 ? 1.0 : y;
    double t5 = t3 / t4;
    double t6 = a < 0.0 ? 1.0 : 0.0;
    double t7 = t6 != 0.0 ? (-1.0) : 1.0;
    double t8 = 0.0 * b;
    double t9 = t7 + t8;
    double t10 = t2 != 0.0 ? t9 : t5;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    return t11;
}

static inline double partial1_hypot(double a, double b, double y) {
    double t0 = y == 0.0 ? 1.0 : 0.0;
    double t1 = fabs(b);
    double t2 = t1 == INFINITY ? 1.0 : 0.0;
    double t3 = t2 != 0.0 ? 0.0 : b;
    double t4 = t0 != 0.0 ? 1.0 : y;
    double t5 = t3 / t4;
    double t6 = b < 0.0 ? 1.0 : 0.0;
    double t7 = t6 != 0.0 ? (-1.0) : 1.0;
    double t8 = 0.0 * a;
    double t9 = t7 + t8;
    double t10 = t2 != 0.0 ? t9 : t5;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    return t11;
}

static inline double value_erf(double a) {
    double t0 = erf(a);
    return t0;
}

static inline double partial0_erf(double a, double y) {
    (void)y;
    double t0 = a > 1e+30 ? 1.0 : 0.0;
    double t1 = a < (-1e+30) ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? (-1e+30) : a;
    double t3 = t0 != 0.0 ? 1e+30 : t2;
    double t4 = -t3;
    double t5 = t4 * t3;
    double t6 = exp(t5);
    double t7 = 1.1283791670955126 * t6;
    return t7;
}

static inline double value_erfc(double a) {
    double t0 = erfc(a);
    return t0;
}

static inline double partial0_erfc(double a, double y) {
    (void)y;
    double t0 = a > 1e+30 ? 1.0 : 0.0;
    double t1 = a < (-1e+30) ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? (-1e+30) : a;
    double t3 = t0 != 0.0 ? 1e+30 : t2;
    double t4 = -t3;
    double t5 = t4 * t3;
    double t6 = exp(t5);
    double t7 = 1.1283791670955126 * t6;
    double t8 = -t7;
    return t8;
}

static inline double value_sigmoid(double a) {
    double t0 = fabs(a);
    double t1 = -t0;
    double t2 = exp(t1);
    double t3 = a < 0.0 ? 1.0 : 0.0;
    double t4 = t3 != 0.0 ? t2 : 1.0;
    double t5 = 1.0 + t2;
    double t6 = t4 / t5;
    return t6;
}

static inline double partial0_sigmoid(double a, double y) {
    (void)y;
    double t0 = fabs(a);
    double t1 = -t0;
    double t2 = exp(t1);
    double t3 = 2.0 + t2;
    double t4 = t2 * t3;
    double t5 = 1.0 + t4;
    double t6 = t2 / t5;
    return t6;
}

static inline double value_sigmoid_slope(double a) {
    double t0 = fabs(a);
    double t1 = -t0;
    double t2 = exp(t1);
    double t3 = 2.0 + t2;
    double t4 = t2 * t3;
    double t5 = 1.0 + t4;
    double t6 = t2 / t5;
    return t6;
}

static inline double partial0_sigmoid_slope(double a, double y) {
    double t0 = -y;
    double t1 = 0.5 * a;
    double t2 = tanh(t1);
    double t3 = t0 * t2;
    return t3;
}

static inline double value_relu(double a) {
    double t0 = a <= 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 0.0 : a;
    return t1;
}

static inline double partial0_relu(double a, double y) {
    (void)a;
    double t0 = y > 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 1.0 : 0.0;
    return t1;
}

static inline double value_leaky_relu(double a, double b) {
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = b * a;
    double t2 = t0 != 0.0 ? a : t1;
    return t2;
}

static inline double partial0_leaky_relu(double a, double b, double y) {
    (void)y;
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 1.0 : b;
    return t1;
}

static inline double partial1_leaky_relu(double a, double b, double y) {
    (void)y;
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 0.0 : a;
    return t1;
}

static inline double value_elu(double a, double b) {
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = expm1(a);
    double t2 = b * t1;
    double t3 = t0 != 0.0 ? a : t2;
    return t3;
}

static inline double partial0_elu(double a, double b, double y) {
    (void)y;
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 0.0 : b;
    double t2 = t0 != 0.0 ? 0.0 : a;
    double t3 = exp(t2);
    double t4 = t1 * t3;
    double t5 = t0 != 0.0 ? 1.0 : t4;
    return t5;
}

static inline double partial1_elu(double a, double b, double y) {
    (void)y;
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 0.0 : a;
    double t2 = expm1(t1);
    return t2;
}

static inline double value_softplus(double a) {
    double t0 = a < 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 0.0 : a;
    double t2 = fabs(a);
    double t3 = -t2;
    double t4 = exp(t3);
    double t5 = log1p(t4);
    double t6 = t1 + t5;
    return t6;
}

static inline double partial0_softplus(double a, double y) {
    (void)y;
    double t0 = fabs(a);
    double t1 = -t0;
    double t2 = exp(t1);
    double t3 = a < 0.0 ? 1.0 : 0.0;
    double t4 = t3 != 0.0 ? t2 : 1.0;
    double t5 = 1.0 + t2;
    double t6 = t4 / t5;
    return t6;
}

static inline double value_silu(double a) {
    double t0 = a == (-INFINITY) ? 1.0 : 0.0;
    double t1 = fabs(a);
    double t2 = -t1;
    double t3 = exp(t2);
    double t4 = a < 0.0 ? 1.0 : 0.0;
    double t5 = t4 != 0.0 ? t3 : 1.0;
    double t6 = 1.0 + t3;
    double t7 = t5 / t6;
    double t8 = a * t7;
    double t9 = t0 != 0.0 ? (-0.0) : t8;
    return t9;
}

static inline double partial0_silu(double a, double y) {
    (void)y;
    double t0 = fabs(a);
    double t1 = -t0;
    double t2 = exp(t1);
    double t3 = a < 0.0 ? 1.0 : 0.0;
    double t4 = t3 != 0.0 ? t2 : 1.0;
    double t5 = 1.0 + t2;
    double t6 = t4 / t5;
    double t7 = a > 1e+30 ? 1.0 : 0.0;
    double t8 = a < (-1e+30) ? 1.0 : 0.0;
    double t9 = t8 != 0.0 ? (-1e+30) : a;
    double t10 = t7 != 0.0 ? 1e+30 : t9;
    double t11 = -a;
    double t12 = fabs(t11);
    double t13 = -t12;
    double t14 = exp(t13);
    double t15 = t11 < 0.0 ? 1.0 : 0.0;
    double t16 = t15 != 0.0 ? t14 : 1.0;
    double t17 = 1.0 + t14;
    double t18 = t16 / t17;
    double t19 = t10 * t18;
    double t20 = 1.0 + t19;
    double t21 = t6 * t20;
    return t21;
}

static inline double value_gelu(double a) {
    double t0 = a == (-INFINITY) ? 1.0 : 0.0;
    double t1 = a * (-0.7071067811865476);
    double t2 = erfc(t1);
    double t3 = 0.5 * t2;
    double t4 = a * t3;
    double t5 = t0 != 0.0 ? (-0.0) : t4;
    return t5;
}

static inline double partial0_gelu(double a, double y) {
    (void)y;
    double t0 = a > 1e+30 ? 1.0 : 0.0;
    double t1 = a < (-1e+30) ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? (-1e+30) : a;
    double t3 = t0 != 0.0 ? 1e+30 : t2;
    double t4 = a * (-0.7071067811865476);
    double t5 = erfc(t4);
    double t6 = 0.5 * t5;
    double t7 = (-0.5) * t3;
    double t8 = t7 * t3;
    double t9 = exp(t8);
    double t10 = t9 * 0.3989422804014327;
    double t11 = t3 * t10;
    double t12 = t6 + t11;
    return t12;
}

static inline double value_gamma(double a) {
    double t0 = tgamma(a);
    return t0;
}

static inline double partial0_gamma(double a, double y) {
    double t0 = a < 0.5 ? 1.0 : 0.0;
    double t1 = 1.0 - a;
    double t2 = t0 != 0.0 ? t1 : a;
    double t3 = rint(a);
    double t4 = a - t3;
    double t5 = t0 != 0.0 ? t4 : 0.25;
    double t6 = t2 < 10.0 ? 1.0 : 0.0;
    double t7 = 1.0 / t2;
    double t8 = t6 != 0.0 ? t7 : 0.0;
    double t9 = 0.0 - t8;
    double t10 = t2 + 1.0;
    double t11 = t6 != 0.0 ? t10 : t2;
    double t12 = t11 < 10.0 ? 1.0 : 0.0;
    double t13 = 1.0 / t11;
    double t14 = t12 != 0.0 ? t13 : 0.0;
    double t15 = t9 - t14;
    double t16 = t11 + 1.0;
    double t17 = t12 != 0.0 ? t16 : t11;
    double t18 = t17 < 10.0 ? 1.0 : 0.0;
    double t19 = 1.0 / t17;
    double t20 = t18 != 0.0 ? t19 : 0.0;
    double t21 = t15 - t20;
    double t22 = t17 + 1.0;
    double t23 = t18 != 0.0 ? t22 : t17;
    double t24 = t23 < 10.0 ? 1.0 : 0.0;
    double t25 = 1.0 / t23;
    double t26 = t24 != 0.0 ? t25 : 0.0;
    double t27 = t21 - t26;
    double t28 = t23 + 1.0;
    double t29 = t24 != 0.0 ? t28 : t23;
    double t30 = t29 < 10.0 ? 1.0 : 0.0;
    double t31 = 1.0 / t29;
    double t32 = t30 != 0.0 ? t31 : 0.0;
    double t33 = t27 - t32;
    double t34 = t29 + 1.0;
    double t35 = t30 != 0.0 ? t34 : t29;
    double t36 = t35 < 10.0 ? 1.0 : 0.0;
    double t37 = 1.0 / t35;
    double t38 = t36 != 0.0 ? t37 : 0.0;
    double t39 = t33 - t38;
    double t40 = t35 + 1.0;
    double t41 = t36 != 0.0 ? t40 : t35;
    double t42 = t41 < 10.0 ? 1.0 : 0.0;
    double t43 = 1.0 / t41;
    double t44 = t42 != 0.0 ? t43 : 0.0;
    double t45 = t39 - t44;
    double t46 = t41 + 1.0;
    double t47 = t42 != 0.0 ? t46 : t41;
    double t48 = t47 < 10.0 ? 1.0 : 0.0;
    double t49 = 1.0 / t47;
    double t50 = t48 != 0.0 ? t49 : 0.0;
    double t51 = t45 - t50;
    double t52 = t47 + 1.0;
    double t53 = t48 != 0.0 ? t52 : t47;
    double t54 = t53 < 10.0 ? 1.0 : 0.0;
    double t55 = 1.0 / t53;
    double t56 = t54 != 0.0 ? t55 : 0.0;
    double t57 = t51 - t56;
    double t58 = t53 + 1.0;
    double t59 = t54 != 0.0 ? t58 : t53;
    double t60 = t59 < 10.0 ? 1.0 : 0.0;
    double t61 = 1.0 / t59;
    double t62 = t60 != 0.0 ? t61 : 0.0;
    double t63 = t57 - t62;
    double t64 = t59 + 1.0;
    double t65 = t60 != 0.0 ? t64 : t59;
    double t66 = t65 * t65;
    double t67 = 1.0 / t66;
    double t68 = (-0.4432598039215686) * t67;
    double t69 = t68 + 0.08333333333333333;
    double t70 = t69 * t67;
    double t71 = t70 + (-0.021092796092796094);
    double t72 = t71 * t67;
    double t73 = t72 + 0.007575757575757576;
    double t74 = t73 * t67;
    double t75 = t74 + (-0.004166666666666667);
    double t76 = t75 * t67;
    double t77 = t76 + 0.003968253968253968;
    double t78 = t77 * t67;
    double t79 = t78 + (-0.008333333333333333);
    double t80 = t79 * t67;
    double t81 = t80 + 0.08333333333333333;
    double t82 = t81 * t67;
    double t83 = log(t65);
    double t84 = 0.5 / t65;
    double t85 = t83 - t84;
    double t86 = t85 - t82;
    double t87 = t63 + t86;
    double t88 = 3.141592653589793 * t5;
    double t89 = tan(t88);
    double t90 = 3.141592653589793 / t89;
    double t91 = t87 - t90;
    double t92 = t0 != 0.0 ? t91 : t87;
    double t93 = y * t92;
    return t93;
}

static inline double value_lgamma(double a) {
    double t0 = lgamma(a);
    return t0;
}

static inline double partial0_lgamma(double a, double y) {
    (void)y;
    double t0 = fabs(a);
    double t1 = t0 < 8.673617379884035e-19 ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? a : 1.0;
    double t3 = 1.0 / t2;
    double t4 = -t3;
    double t5 = t1 != 0.0 ? 1.0 : a;
    double t6 = t5 < 0.5 ? 1.0 : 0.0;
    double t7 = 1.0 - t5;
    double t8 = t6 != 0.0 ? t7 : t5;
    double t9 = rint(t5);
    double t10 = t5 - t9;
    double t11 = t6 != 0.0 ? t10 : 0.25;
    double t12 = t8 < 10.0 ? 1.0 : 0.0;
    double t13 = 1.0 / t8;
    double t14 = t12 != 0.0 ? t13 : 0.0;
    double t15 = 0.0 - t14;
    double t16 = t8 + 1.0;
    double t17 = t12 != 0.0 ? t16 : t8;
    double t18 = t17 < 10.0 ? 1.0 : 0.0;
    double t19 = 1.0 / t17;
    double t20 = t18 != 0.0 ? t19 : 0.0;
    double t21 = t15 - t20;
    double t22 = t17 + 1.0;
    double t23 = t18 != 0.0 ? t22 : t17;
    double t24 = t23 < 10.0 ? 1.0 : 0.0;
    double t25 = 1.0 / t23;
    double t26 = t24 != 0.0 ? t25 : 0.0;
    double t27 = t21 - t26;
    double t28 = t23 + 1.0;
    double t29 = t24 != 0.0 ? t28 : t23;
    double t30 = t29 < 10.0 ? 1.0 : 0.0;
    double t31 = 1.0 / t29;
    double t32 = t30 != 0.0 ? t31 : 0.0;
    double t33 = t27 - t32;
    double t34 = t29 + 1.0;
    double t35 = t30 != 0.0 ? t34 : t29;
    double t36 = t35 < 10.0 ? 1.0 : 0.0;
    double t37 = 1.0 / t35;
    double t38 = t36 != 0.0 ? t37 : 0.0;
    double t39 = t33 - t38;
    double t40 = t35 + 1.0;
    double t41 = t36 != 0.0 ? t40 : t35;
    double t42 = t41 < 10.0 ? 1.0 : 0.0;
    double t43 = 1.0 / t41;
    double t44 = t42 != 0.0 ? t43 : 0.0;
    double t45 = t39 - t44;
    double t46 = t41 + 1.0;
    double t47 = t42 != 0.0 ? t46 : t41;
    double t48 = t47 < 10.0 ? 1.0 : 0.0;
    double t49 = 1.0 / t47;
    double t50 = t48 != 0.0 ? t49 : 0.0;
    double t51 = t45 - t50;
    double t52 = t47 + 1.0;
    double t53 = t48 != 0.0 ? t52 : t47;
    double t54 = t53 < 10.0 ? 1.0 : 0.0;
    double t55 = 1.0 / t53;
    double t56 = t54 != 0.0 ? t55 : 0.0;
    double t57 = t51 - t56;
    double t58 = t53 + 1.0;
    double t59 = t54 != 0.0 ? t58 : t53;
    double t60 = t59 < 10.0 ? 1.0 : 0.0;
    double t61 = 1.0 / t59;
    double t62 = t60 != 0.0 ? t61 : 0.0;
    double t63 = t57 - t62;
    double t64 = t59 + 1.0;
    double t65 = t60 != 0.0 ? t64 : t59;
    double t66 = t65 < 10.0 ? 1.0 : 0.0;
    double t67 = 1.0 / t65;
    double t68 = t66 != 0.0 ? t67 : 0.0;
    double t69 = t63 - t68;
    double t70 = t65 + 1.0;
    double t71 = t66 != 0.0 ? t70 : t65;
    double t72 = t71 * t71;
    double t73 = 1.0 / t72;
    double t74 = (-0.4432598039215686) * t73;
    double t75 = t74 + 0.08333333333333333;
    double t76 = t75 * t73;
    double t77 = t76 + (-0.021092796092796094);
    double t78 = t77 * t73;
    double t79 = t78 + 0.007575757575757576;
    double t80 = t79 * t73;
    double t81 = t80 + (-0.004166666666666667);
    double t82 = t81 * t73;
    double t83 = t82 + 0.003968253968253968;
    double t84 = t83 * t73;
    double t85 = t84 + (-0.008333333333333333);
    double t86 = t85 * t73;
    double t87 = t86 + 0.08333333333333333;
    double t88 = t87 * t73;
    double t89 = log(t71);
    double t90 = 0.5 / t71;
    double t91 = t89 - t90;
    double t92 = t91 - t88;
    double t93 = t69 + t92;
    double t94 = 3.141592653589793 * t11;
    double t95 = tan(t94);
    double t96 = 3.141592653589793 / t95;
    double t97 = t93 - t96;
    double t98 = t6 != 0.0 ? t97 : t93;
    double t99 = t1 != 0.0 ? t4 : t98;
    return t99;
}

static inline double value_digamma(double a) {
    double t0 = a < 0.5 ? 1.0 : 0.0;
    double t1 = 1.0 - a;
    double t2 = t0 != 0.0 ? t1 : a;
    double t3 = rint(a);
    double t4 = a - t3;
    double t5 = t0 != 0.0 ? t4 : 0.25;
    double t6 = t2 < 10.0 ? 1.0 : 0.0;
    double t7 = 1.0 / t2;
    double t8 = t6 != 0.0 ? t7 : 0.0;
    double t9 = 0.0 - t8;
    double t10 = t2 + 1.0;
    double t11 = t6 != 0.0 ? t10 : t2;
    double t12 = t11 < 10.0 ? 1.0 : 0.0;
    double t13 = 1.0 / t11;
    double t14 = t12 != 0.0 ? t13 : 0.0;
    double t15 = t9 - t14;
    double t16 = t11 + 1.0;
    double t17 = t12 != 0.0 ? t16 : t11;
    double t18 = t17 < 10.0 ? 1.0 : 0.0;
    double t19 = 1.0 / t17;
    double t20 = t18 != 0.0 ? t19 : 0.0;
    double t21 = t15 - t20;
    double t22 = t17 + 1.0;
    double t23 = t18 != 0.0 ? t22 : t17;
    double t24 = t23 < 10.0 ? 1.0 : 0.0;
    double t25 = 1.0 / t23;
    double t26 = t24 != 0.0 ? t25 : 0.0;
    double t27 = t21 - t26;
    double t28 = t23 + 1.0;
    double t29 = t24 != 0.0 ? t28 : t23;
    double t30 = t29 < 10.0 ? 1.0 : 0.0;
    double t31 = 1.0 / t29;
    double t32 = t30 != 0.0 ? t31 : 0.0;
    double t33 = t27 - t32;
    double t34 = t29 + 1.0;
    double t35 = t30 != 0.0 ? t34 : t29;
    double t36 = t35 < 10.0 ? 1.0 : 0.0;
    double t37 = 1.0 / t35;
    double t38 = t36 != 0.0 ? t37 : 0.0;
    double t39 = t33 - t38;
    double t40 = t35 + 1.0;
    double t41 = t36 != 0.0 ? t40 : t35;
    double t42 = t41 < 10.0 ? 1.0 : 0.0;
    double t43 = 1.0 / t41;
    double t44 = t42 != 0.0 ? t43 : 0.0;
    double t45 = t39 - t44;
    double t46 = t41 + 1.0;
    double t47 = t42 != 0.0 ? t46 : t41;
    double t48 = t47 < 10.0 ? 1.0 : 0.0;
    double t49 = 1.0 / t47;
    double t50 = t48 != 0.0 ? t49 : 0.0;
    double t51 = t45 - t50;
    double t52 = t47 + 1.0;
    double t53 = t48 != 0.0 ? t52 : t47;
    double t54 = t53 < 10.0 ? 1.0 : 0.0;
    double t55 = 1.0 / t53;
    double t56 = t54 != 0.0 ? t55 : 0.0;
    double t57 = t51 - t56;
    double t58 = t53 + 1.0;
    double t59 = t54 != 0.0 ? t58 : t53;
    double t60 = t59 < 10.0 ? 1.0 : 0.0;
    double t61 = 1.0 / t59;
    double t62 = t60 != 0.0 ? t61 : 0.0;
    double t63 = t57 - t62;
    double t64 = t59 + 1.0;
    double t65 = t60 != 0.0 ? t64 : t59;
    double t66 = t65 * t65;
    double t67 = 1.0 / t66;
    double t68 = (-0.4432598039215686) * t67;
    double t69 = t68 + 0.08333333333333333;
    double t70 = t69 * t67;
    double t71 = t70 + (-0.021092796092796094);
    double t72 = t71 * t67;
    double t73 = t72 + 0.007575757575757576;
    double t74 = t73 * t67;
    double t75 = t74 + (-0.004166666666666667);
    double t76 = t75 * t67;
    double t77 = t76 + 0.003968253968253968;
    double t78 = t77 * t67;
    double t79 = t78 + (-0.008333333333333333);
    double t80 = t79 * t67;
    double t81 = t80 + 0.08333333333333333;
    double t82 = t81 * t67;
    double t83 = log(t65);
    double t84 = 0.5 / t65;
    double t85 = t83 - t84;
    double t86 = t85 - t82;
    double t87 = t63 + t86;
    double t88 = 3.141592653589793 * t5;
    double t89 = tan(t88);
    double t90 = 3.141592653589793 / t89;
    double t91 = t87 - t90;
    double t92 = t0 != 0.0 ? t91 : t87;
    return t92;
}

static inline double partial0_digamma(double a, double y) {
    (void)y;
    double t0 = a < 0.5 ? 1.0 : 0.0;
    double t1 = 1.0 - a;
    double t2 = t0 != 0.0 ? t1 : a;
    double t3 = rint(a);
    double t4 = a - t3;
    double t5 = t0 != 0.0 ? t4 : 0.25;
    double t6 = t2 > 1.152921504606847e+18 ? 1.0 : 0.0;
    double t7 = t6 != 0.0 ? 1.0 : t2;
    double t8 = t7 + 0.0;
    double t9 = pow(t8, (-2.0));
    double t10 = 0.0 + t9;
    double t11 = t7 + 1.0;
    double t12 = pow(t11, (-2.0));
    double t13 = t10 + t12;
    double t14 = t7 + 2.0;
    double t15 = pow(t14, (-2.0));
    double t16 = t13 + t15;
    double t17 = t7 + 3.0;
    double t18 = pow(t17, (-2.0));
    double t19 = t16 + t18;
    double t20 = t7 + 4.0;
    double t21 = pow(t20, (-2.0));
    double t22 = t19 + t21;
    double t23 = t7 + 5.0;
    double t24 = pow(t23, (-2.0));
    double t25 = t22 + t24;
    double t26 = t7 + 6.0;
    double t27 = pow(t26, (-2.0));
    double t28 = t25 + t27;
    double t29 = t7 + 7.0;
    double t30 = pow(t29, (-2.0));
    double t31 = t28 + t30;
    double t32 = t7 + 8.0;
    double t33 = pow(t32, (-2.0));
    double t34 = t31 + t33;
    double t35 = t7 + 9.0;
    double t36 = pow(t35, (-2.0));
    double t37 = t34 + t36;
    double t38 = t7 + 10.0;
    double t39 = pow(t38, (-2.0));
    double t40 = t37 + t39;
    double t41 = t7 + 11.0;
    double t42 = pow(t41, (-2.0));
    double t43 = t40 + t42;
    double t44 = t7 + 12.0;
    double t45 = pow(t44, (-2.0));
    double t46 = t44 / 1.0;
    double t47 = t46 + 0.5;
    double t48 = 2.0 / t44;
    double t49 = 0.08333333333333333 * t48;
    double t50 = t47 + t49;
    double t51 = t44 * t44;
    double t52 = 12.0 / t51;
    double t53 = t48 * t52;
    double t54 = (-0.001388888888888889) * t53;
    double t55 = t50 + t54;
    double t56 = 30.0 / t51;
    double t57 = t53 * t56;
    double t58 = 3.306878306878307e-05 * t57;
    double t59 = t55 + t58;
    double t60 = 56.0 / t51;
    double t61 = t57 * t60;
    double t62 = (-8.267195767195768e-07) * t61;
    double t63 = t59 + t62;
    double t64 = 90.0 / t51;
    double t65 = t61 * t64;
    double t66 = 2.08767569878681e-08 * t65;
    double t67 = t63 + t66;
    double t68 = 132.0 / t51;
    double t69 = t65 * t68;
    double t70 = (-5.284190138687493e-10) * t69;
    double t71 = t67 + t70;
    double t72 = 182.0 / t51;
    double t73 = t69 * t72;
    double t74 = 1.3382536530684679e-11 * t73;
    double t75 = t71 + t74;
    double t76 = 240.0 / t51;
    double t77 = t73 * t76;
    double t78 = (-3.3896802963225827e-13) * t77;
    double t79 = t75 + t78;
    double t80 = 306.0 / t51;
    double t81 = t77 * t80;
    double t82 = 8.586062056277845e-15 * t81;
    double t83 = t79 + t82;
    double t84 = t45 * t83;
    double t85 = t43 + t84;
    double t86 = t7 > 0.0 ? 1.0 : 0.0;
    double t87 = t86 * 1.0;
    double t88 = t7 < INFINITY ? 1.0 : 0.0;
    double t89 = t88 != 0.0 ? t85 : 0.0;
    double t90 = t87 != 0.0 ? t89 : NAN;
    double t91 = 3.141592653589793 * t5;
    double t92 = sin(t91);
    double t93 = t6 != 0.0 ? t2 : 1.0;
    double t94 = 1.0 / t93;
    double t95 = t6 != 0.0 ? t94 : t90;
    double t96 = 9.869604401089358 / t92;
    double t97 = t96 / t92;
    double t98 = t97 - t95;
    double t99 = t0 != 0.0 ? t98 : t95;
    return t99;
}

static inline double value_zeta(double a, double b) {
    double t0 = b + 0.0;
    double t1 = -a;
    double t2 = pow(t0, t1);
    double t3 = 0.0 + t2;
    double t4 = b + 1.0;
    double t5 = pow(t4, t1);
    double t6 = t3 + t5;
    double t7 = b + 2.0;
    double t8 = pow(t7, t1);
    double t9 = t6 + t8;
    double t10 = b + 3.0;
    double t11 = pow(t10, t1);
    double t12 = t9 + t11;
    double t13 = b + 4.0;
    double t14 = pow(t13, t1);
    double t15 = t12 + t14;
    double t16 = b + 5.0;
    double t17 = pow(t16, t1);
    double t18 = t15 + t17;
    double t19 = b + 6.0;
    double t20 = pow(t19, t1);
    double t21 = t18 + t20;
    double t22 = b + 7.0;
    double t23 = pow(t22, t1);
    double t24 = t21 + t23;
    double t25 = b + 8.0;
    double t26 = pow(t25, t1);
    double t27 = t24 + t26;
    double t28 = b + 9.0;
    double t29 = pow(t28, t1);
    double t30 = t27 + t29;
    double t31 = b + 10.0;
    double t32 = pow(t31, t1);
    double t33 = t30 + t32;
    double t34 = b + 11.0;
    double t35 = pow(t34, t1);
    double t36 = t33 + t35;
    double t37 = b + 12.0;
    double t38 = pow(t37, t1);
    double t39 = a - 1.0;
    double t40 = t37 / t39;
    double t41 = t40 + 0.5;
    double t42 = a / t37;
    double t43 = 0.08333333333333333 * t42;
    double t44 = t41 + t43;
    double t45 = a + 1.0;
    double t46 = a + 2.0;
    double t47 = t45 * t46;
    double t48 = t37 * t37;
    double t49 = t47 / t48;
    double t50 = t42 * t49;
    double t51 = (-0.001388888888888889) * t50;
    double t52 = t44 + t51;
    double t53 = a + 3.0;
    double t54 = a + 4.0;
    double t55 = t53 * t54;
    double t56 = t55 / t48;
    double t57 = t50 * t56;
    double t58 = 3.306878306878307e-05 * t57;
    double t59 = t52 + t58;
    double t60 = a + 5.0;
    double t61 = a + 6.0;
    double t62 = t60 * t61;
    double t63 = t62 / t48;
    double t64 = t57 * t63;
    double t65 = (-8.267195767195768e-07) * t64;
    double t66 = t59 + t65;
    double t67 = a + 7.0;
    double t68 = a + 8.0;
    double t69 = t67 * t68;
    double t70 = t69 / t48;
    double t71 = t64 * t70;
    double t72 = 2.08767569878681e-08 * t71;
    double t73 = t66 + t72;
    double t74 = a + 9.0;
    double t75 = a + 10.0;
    double t76 = t74 * t75;
    double t77 = t76 / t48;
    double t78 = t71 * t77;
    double t79 = (-5.284190138687493e-10) * t78;
    double t80 = t73 + t79;
    double t81 = a + 11.0;
    double t82 = a + 12.0;
    double t83 = t81 * t82;
    double t84 = t83 / t48;
    double t85 = t78 * t84;
    double t86 = 1.3382536530684679e-11 * t85;
    double t87 = t80 + t86;
    double t88 = a + 13.0;
    double t89 = a + 14.0;
    double t90 = t88 * t89;
    double t91 = t90 / t48;
    double t92 = t85 * t91;
    double t93 = (-3.3896802963225827e-13) * t92;
    double t94 = t87 + t93;
    double t95 = a + 15.0;
    double t96 = a + 16.0;
    double t97 = t95 * t96;
    double t98 = t97 / t48;
    double t99 = t92 * t98;
    double t100 = 8.586062056277845e-15 * t99;
    double t101 = t94 + t100;
    double t102 = t38 * t101;
    double t103 = t36 + t102;
    double t104 = b > 0.0 ? 1.0 : 0.0;
    double t105 = a > 1.0 ? 1.0 : 0.0;
    double t106 = t104 * t105;
    double t107 = b < INFINITY ? 1.0 : 0.0;
    double t108 = t107 != 0.0 ? t103 : 0.0;
    double t109 = t106 != 0.0 ? t108 : NAN;
    return t109;
}

static inline double partial0_zeta(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return NAN;
}

static inline double partial1_zeta(double a, double b, double y) {
    (void)y;
    double t0 = b > 1.152921504606847e+18 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? b : 1.0;
    double t2 = -a;
    double t3 = pow(t1, t2);
    double t4 = -t3;
    double t5 = a + 1.0;
    double t6 = t0 != 0.0 ? 1.0 : b;
    double t7 = t6 + 0.0;
    double t8 = -t5;
    double t9 = pow(t7, t8);
    double t10 = 0.0 + t9;
    double t11 = t6 + 1.0;
    double t12 = pow(t11, t8);
    double t13 = t10 + t12;
    double t14 = t6 + 2.0;
    double t15 = pow(t14, t8);
    double t16 = t13 + t15;
    double t17 = t6 + 3.0;
    double t18 = pow(t17, t8);
    double t19 = t16 + t18;
    double t20 = t6 + 4.0;
    double t21 = pow(t20, t8);
    double t22 = t19 + t21;
    double t23 = t6 + 5.0;
    double t24 = pow(t23, t8);
    double t25 = t22 + t24;
    double t26 = t6 + 6.0;
    double t27 = pow(t26, t8);
    double t28 = t25 + t27;
    double t29 = t6 + 7.0;
    double t30 = pow(t29, t8);
    double t31 = t28 + t30;
    double t32 = t6 + 8.0;
    double t33 = pow(t32, t8);
    double t34 = t31 + t33;
    double t35 = t6 + 9.0;
    double t36 = pow(t35, t8);
    double t37 = t34 + t36;
    double t38 = t6 + 10.0;
    double t39 = pow(t38, t8);
    double t40 = t37 + t39;
    double t41 = t6 + 11.0;
    double t42 = pow(t41, t8);
    double t43 = t40 + t42;
    double t44 = t6 + 12.0;
    double t45 = pow(t44, t8);
    double t46 = t5 - 1.0;
    double t47 = t44 / t46;
    double t48 = t47 + 0.5;
    double t49 = t5 / t44;
    double t50 = 0.08333333333333333 * t49;
    double t51 = t48 + t50;
    double t52 = t5 + 1.0;
    double t53 = t5 + 2.0;
    double t54 = t52 * t53;
    double t55 = t44 * t44;
    double t56 = t54 / t55;
    double t57 = t49 * t56;
    double t58 = (-0.001388888888888889) * t57;
    double t59 = t51 + t58;
    double t60 = t5 + 3.0;
    double t61 = t5 + 4.0;
    double t62 = t60 * t61;
    double t63 = t62 / t55;
    double t64 = t57 * t63;
    double t65 = 3.306878306878307e-05 * t64;
    double t66 = t59 + t65;
    double t67 = t5 + 5.0;
    double t68 = t5 + 6.0;
    double t69 = t67 * t68;
    double t70 = t69 / t55;
    double t71 = t64 * t70;
    double t72 = (-8.267195767195768e-07) * t71;
    double t73 = t66 + t72;
    double t74 = t5 + 7.0;
    double t75 = t5 + 8.0;
    double t76 = t74 * t75;
    double t77 = t76 / t55;
    double t78 = t71 * t77;
    double t79 = 2.08767569878681e-08 * t78;
    double t80 = t73 + t79;
    double t81 = t5 + 9.0;
    double t82 = t5 + 10.0;
    double t83 = t81 * t82;
    double t84 = t83 / t55;
    double t85 = t78 * t84;
    double t86 = (-5.284190138687493e-10) * t85;
    double t87 = t80 + t86;
    double t88 = t5 + 11.0;
    double t89 = t5 + 12.0;
    double t90 = t88 * t89;
    double t91 = t90 / t55;
    double t92 = t85 * t91;
    double t93 = 1.3382536530684679e-11 * t92;
    double t94 = t87 + t93;
    double t95 = t5 + 13.0;
    double t96 = t5 + 14.0;
    double t97 = t95 * t96;
    double t98 = t97 / t55;
    double t99 = t92 * t98;
    double t100 = (-3.3896802963225827e-13) * t99;
    double t101 = t94 + t100;
    double t102 = t5 + 15.0;
    double t103 = t5 + 16.0;
    double t104 = t102 * t103;
    double t105 = t104 / t55;
    double t106 = t99 * t105;
    double t107 = 8.586062056277845e-15 * t106;
    double t108 = t101 + t107;
    double t109 = t45 * t108;
    double t110 = t43 + t109;
    double t111 = t6 > 0.0 ? 1.0 : 0.0;
    double t112 = t5 > 1.0 ? 1.0 : 0.0;
    double t113 = t111 * t112;
    double t114 = t6 < INFINITY ? 1.0 : 0.0;
    double t115 = t114 != 0.0 ? t110 : 0.0;
    double t116 = t113 != 0.0 ? t115 : NAN;
    double t117 = t2 * t116;
    double t118 = t0 != 0.0 ? t4 : t117;
    return t118;
}

static inline double value_relative(double a) {
    (void)a;
    return 0.0;
}

static inline double partial0_relative(double a, double y) {
    (void)y;
    double t0 = 1.0 / a;
    return t0;
}

static inline double value_quotient(double a, double b, double c) {
    (void)c;
    double t0 = a / b;
    return t0;
}

static inline double partial0_quotient(double a, double b, double c, double y) {
    (void)a;
    (void)c;
    (void)y;
    double t0 = 1.0 / b;
    return t0;
}

static inline double partial1_quotient(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double partial2_quotient(double a, double b, double c, double y) {
    (void)a;
    (void)c;
    double t0 = -y;
    return t0;
}

static inline double value_relative_base(double a, double b) {
    (void)a;
    (void)b;
    return 0.0;
}

static inline double partial0_relative_base(double a, double b, double y) {
    (void)y;
    double t0 = b < 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? a : 1.0;
    double t2 = 1.0 / t1;
    double t3 = t0 != 0.0 ? t2 : 0.0;
    return t3;
}

static inline double partial1_relative_base(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_power(double a, double b, double c) {
    (void)c;
    double t0 = pow(a, b);
    return t0;
}

static inline double partial0_power(double a, double b, double c, double y) {
    (void)c;
    (void)y;
    double t0 = b < 0.0 ? 1.0 : 0.0;
    double t1 = t0 != 0.0 ? 1.0 : a;
    double t2 = fabs(t1);
    double t3 = t2 > 0.0 ? 1.0 : 0.0;
    double t4 = b == 0.0 ? 1.0 : 0.0;
    double t5 = t3 != 0.0 ? 0.0 : t4;
    double t6 = t5 != 0.0 ? 1.0 : t1;
    double t7 = b - 1.0;
    double t8 = pow(t6, t7);
    double t9 = b * t8;
    double t10 = t5 != 0.0 ? 0.0 : t9;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    return t11;
}

static inline double partial1_power(double a, double b, double c, double y) {
    (void)c;
    double t0 = a == 0.0 ? 1.0 : 0.0;
    double t1 = b >= 0.0 ? 1.0 : 0.0;
    double t2 = a == INFINITY ? 1.0 : 0.0;
    double t3 = b < 0.0 ? 1.0 : 0.0;
    double t4 = t2 * t3;
    double t5 = t0 != 0.0 ? t1 : t4;
    double t6 = t5 != 0.0 ? 1.0 : a;
    double t7 = log(t6);
    double t8 = y * t7;
    double t9 = t5 != 0.0 ? 0.0 : t8;
    return t9;
}

static inline double partial2_power(double a, double b, double c, double y) {
    (void)a;
    (void)c;
    double t0 = b < 0.0 ? 1.0 : 0.0;
    double t1 = b * y;
    double t2 = t0 != 0.0 ? t1 : 0.0;
    return t2;
}

static inline double value_hypot_slope(double a, double b, double c) {
    double t0 = c == 0.0 ? 1.0 : 0.0;
    double t1 = fabs(a);
    double t2 = t1 == INFINITY ? 1.0 : 0.0;
    double t3 = t2 != 0.0 ? 0.0 : a;
    double t4 = t0 != 0.0 ? 1.0 : c;
    double t5 = t3 / t4;
    double t6 = a < 0.0 ? 1.0 : 0.0;
    double t7 = t6 != 0.0 ? (-1.0) : 1.0;
    double t8 = 0.0 * b;
    double t9 = t7 + t8;
    double t10 = t2 != 0.0 ? t9 : t5;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    return t11;
}

static inline double partial0_hypot_slope(double a, double b, double c, double y) {
    (void)y;
    double t0 = c == 0.0 ? 1.0 : 0.0;
    double t1 = fabs(b);
    double t2 = t1 == INFINITY ? 1.0 : 0.0;
    double t3 = t2 != 0.0 ? 0.0 : b;
    double t4 = t0 != 0.0 ? 1.0 : c;
    double t5 = t3 / t4;
    double t6 = b < 0.0 ? 1.0 : 0.0;
    double t7 = t6 != 0.0 ? (-1.0) : 1.0;
    double t8 = 0.0 * a;
    double t9 = t7 + t8;
    double t10 = t2 != 0.0 ? t9 : t5;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    double t12 = t11 * t11;
    double t13 = t12 / t4;
    return t13;
}

static inline double partial1_hypot_slope(double a, double b, double c, double y) {
    double t0 = c == 0.0 ? 1.0 : 0.0;
    double t1 = fabs(b);
    double t2 = t1 == INFINITY ? 1.0 : 0.0;
    double t3 = t2 != 0.0 ? 0.0 : b;
    double t4 = t0 != 0.0 ? 1.0 : c;
    double t5 = t3 / t4;
    double t6 = b < 0.0 ? 1.0 : 0.0;
    double t7 = t6 != 0.0 ? (-1.0) : 1.0;
    double t8 = 0.0 * a;
    double t9 = t7 + t8;
    double t10 = t2 != 0.0 ? t9 : t5;
    double t11 = t0 != 0.0 ? 0.0 : t10;
    double t12 = y * t11;
    double t13 = t12 / t4;
    double t14 = -t13;
    return t14;
}

static inline double partial2_hypot_slope(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double value_floor(double a) {
    double t0 = floor(a);
    return t0;
}

static inline double partial0_floor(double a, double y) {
    (void)a;
    (void)y;
    return 0.0;
}

static inline double value_ceil(double a) {
    double t0 = ceil(a);
    return t0;
}

static inline double partial0_ceil(double a, double y) {
    (void)a;
    (void)y;
    return 0.0;
}

static inline double value_round(double a) {
    double t0 = rint(a);
    return t0;
}

static inline double partial0_round(double a, double y) {
    (void)a;
    (void)y;
    return 0.0;
}

static inline double value_trunc(double a) {
    double t0 = trunc(a);
    return t0;
}

static inline double partial0_trunc(double a, double y) {
    (void)a;
    (void)y;
    return 0.0;
}

static inline double value_sign(double a) {
    double t0 = a > 0.0 ? 1.0 : 0.0;
    double t1 = a < 0.0 ? 1.0 : 0.0;
    double t2 = t1 != 0.0 ? (-1.0) : a;
    double t3 = t0 != 0.0 ? 1.0 : t2;
    return t3;
}

static inline double partial0_sign(double a, double y) {
    (void)a;
    (void)y;
    return 0.0;
}

static inline double value_where(double a, double b, double c) {
    double t0 = a != 0.0 ? b : c;
    return t0;
}

static inline double partial0_where(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double partial1_where(double a, double b, double c, double y) {
    (void)c;
    (void)y;
    double t0 = a != 0.0 ? 1.0 : 0.0;
    return t0;
}

static inline double partial2_where(double a, double b, double c, double y) {
    (void)c;
    (void)y;
    double t0 = a != 0.0 ? 0.0 : 1.0;
    return t0;
}

static inline double value_lt(double a, double b) {
    double t0 = a < b ? 1.0 : 0.0;
    return t0;
}

static inline double partial0_lt(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_lt(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_le(double a, double b) {
    double t0 = a <= b ? 1.0 : 0.0;
    return t0;
}

static inline double partial0_le(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_le(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_gt(double a, double b) {
    double t0 = a > b ? 1.0 : 0.0;
    return t0;
}

static inline double partial0_gt(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_gt(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_ge(double a, double b) {
    double t0 = a >= b ? 1.0 : 0.0;
    return t0;
}

static inline double partial0_ge(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_ge(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_eq(double a, double b) {
    double t0 = a == b ? 1.0 : 0.0;
    return t0;
}

static inline double partial0_eq(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_eq(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_ne(double a, double b) {
    double t0 = a != b ? 1.0 : 0.0;
    return t0;
}

static inline double partial0_ne(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double partial1_ne(double a, double b, double y) {
    (void)a;
    (void)b;
    (void)y;
    return 0.0;
}

static inline double value_philox(double a, double b, double c) {
    double t0 = mg_philox(a, b, c);
    return t0;
}

static inline double partial0_philox(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double partial1_philox(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double partial2_philox(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double value_normal(double a, double b, double c) {
    double t0 = mg_philox(a, b, c);
    double t1 = t0 - 0.5;
    double t2 = t1 + 5.551115123125783e-17;
    double t3 = fabs(t2);
    double t4 = 0.5 - t3;
    double t5 = t4 < 3.2927225399135965e-10 ? 1.0 : 0.0;
    double t6 = t4 * 4294967296.0;
    double t7 = t5 != 0.0 ? t6 : t4;
    double t8 = t5 != 0.0 ? 32.0 : 0.0;
    double t9 = 0.0 + t8;
    double t10 = t7 < 2.1579186437577746e-05 ? 1.0 : 0.0;
    double t11 = t7 * 65536.0;
    double t12 = t10 != 0.0 ? t11 : t7;
    double t13 = t10 != 0.0 ? 16.0 : 0.0;
    double t14 = t9 + t13;
    double t15 = t12 < 0.005524271728019903 ? 1.0 : 0.0;
    double t16 = t12 * 256.0;
    double t17 = t15 != 0.0 ? t16 : t12;
    double t18 = t15 != 0.0 ? 8.0 : 0.0;
    double t19 = t14 + t18;
    double t20 = t17 < 0.08838834764831845 ? 1.0 : 0.0;
    double t21 = t17 * 16.0;
    double t22 = t20 != 0.0 ? t21 : t17;
    double t23 = t20 != 0.0 ? 4.0 : 0.0;
    double t24 = t19 + t23;
    double t25 = t22 < 0.3535533905932738 ? 1.0 : 0.0;
    double t26 = t22 * 4.0;
    double t27 = t25 != 0.0 ? t26 : t22;
    double t28 = t25 != 0.0 ? 2.0 : 0.0;
    double t29 = t24 + t28;
    double t30 = t27 < 0.7071067811865476 ? 1.0 : 0.0;
    double t31 = t27 * 2.0;
    double t32 = t30 != 0.0 ? t31 : t27;
    double t33 = t30 != 0.0 ? 1.0 : 0.0;
    double t34 = t29 + t33;
    double t35 = t3 <= 0.425 ? 1.0 : 0.0;
    double t36 = t2 * t2;
    double t37 = 0.180625 - t36;
    double t38 = t32 - 1.0;
    double t39 = t32 + 1.0;
    double t40 = t38 / t39;
    double t41 = t40 * t40;
    double t42 = 2.0 * t40;
    double t43 = fma(0.08695652173913043, t41, 0.09523809523809523);
    double t44 = fma(t43, t41, 0.10526315789473684);
    double t45 = fma(t44, t41, 0.11764705882352941);
    double t46 = fma(t45, t41, 0.13333333333333333);
    double t47 = fma(t46, t41, 0.15384615384615385);
    double t48 = fma(t47, t41, 0.18181818181818182);
    double t49 = fma(t48, t41, 0.2222222222222222);
    double t50 = fma(t49, t41, 0.2857142857142857);
    double t51 = fma(t50, t41, 0.4);
    double t52 = fma(t51, t41, 0.6666666666666666);
    double t53 = t41 * t52;
    double t54 = t40 * t53;
    double t55 = t42 + t54;
    double t56 = t34 * 0.6931471805599453;
    double t57 = t34 * 2.3190468138462996e-17;
    double t58 = t55 - t57;
    double t59 = t56 - t58;
    double t60 = sqrt(t59);
    double t61 = t60 - 1.609375;
    double t62 = t35 != 0.0 ? t37 : t61;
    double t63 = t35 != 0.0 ? 4.874765941399952 : 0.001936484131555;
    double t64 = t35 != 0.0 ? 210.31989537018475 : 0.20963087741421632;
    double t65 = t35 != 0.0 ? 3525.5321280702633 : 0.32515651500002074;
    double t66 = t35 != 0.0 ? 29112.39975270957 : 0.18772320550190655;
    double t67 = t35 != 0.0 ? 124185.54730959915 : 0.047442190601387976;
    double t68 = t35 != 0.0 ? 262872.99053463014 : 0.003123829097089151;
    double t69 = t35 != 0.0 ? 241554.11234600906 : (-0.0009533751067216436);
    double t70 = t35 != 0.0 ? 68589.41719068622 : (-0.00019848881439793402);
    double t71 = t35 != 0.0 ? 625.0653257463343 : (-1.1869174058977503e-05);
    double t72 = t35 != 0.0 ? 0.0 : (-1.9072372758089646e-07);
    double t73 = t35 != 0.0 ? 1.0 : 1.0;
    double t74 = t35 != 0.0 ? 49.1689319228536 : 2.155993648802981;
    double t75 = t35 != 0.0 ? 967.9298360519299 : 1.9132013575255338;
    double t76 = t35 != 0.0 ? 9787.108554703833 : 0.9111602052674423;
    double t77 = t35 != 0.0 ? 54319.38891329771 : 0.25364165036933073;
    double t78 = t35 != 0.0 ? 164325.09657993075 : 0.041581289138705665;
    double t79 = t35 != 0.0 ? 253716.0996585381 : 0.0037606478790817447;
    double t80 = t35 != 0.0 ? 171982.98098109593 : 0.00015994519723651622;
    double t81 = t35 != 0.0 ? 35509.46431808934 : 2.2237433773483424e-06;
    double t82 = fma(t72, t62, t71);
    double t83 = fma(t82, t62, t70);
    double t84 = fma(t83, t62, t69);
    double t85 = fma(t84, t62, t68);
    double t86 = fma(t85, t62, t67);
    double t87 = fma(t86, t62, t66);
    double t88 = fma(t87, t62, t65);
    double t89 = fma(t88, t62, t64);
    double t90 = fma(t89, t62, t63);
    double t91 = fma(t81, t62, t80);
    double t92 = fma(t91, t62, t79);
    double t93 = fma(t92, t62, t78);
    double t94 = fma(t93, t62, t77);
    double t95 = fma(t94, t62, t76);
    double t96 = fma(t95, t62, t75);
    double t97 = fma(t96, t62, t74);
    double t98 = fma(t97, t62, t73);
    double t99 = t90 / t98;
    double t100 = 1.5 * t62;
    double t101 = 1.4375 + t100;
    double t102 = t101 + t99;
    double t103 = t36 * t99;
    double t104 = 2.5066282746310002 + t103;
    double t105 = t2 * t104;
    double t106 = t2 < 0.0 ? 1.0 : 0.0;
    double t107 = -t102;
    double t108 = t106 != 0.0 ? t107 : t102;
    double t109 = t35 != 0.0 ? t105 : t108;
    double t110 = t3 < 0.5 ? 1.0 : 0.0;
    double t111 = t3 == 0.5 ? 1.0 : 0.0;
    double t112 = t2 / 0.0;
    double t113 = t111 != 0.0 ? t112 : NAN;
    double t114 = t110 != 0.0 ? t109 : t113;
    return t114;
}

static inline double partial0_normal(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double partial1_normal(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double partial2_normal(double a, double b, double c, double y) {
    (void)a;
    (void)b;
    (void)c;
    (void)y;
    return 0.0;
}

static inline double value_probit(double a) {
    double t0 = fabs(a);
    double t1 = 0.5 - t0;
    double t2 = t1 < 3.2927225399135965e-10 ? 1.0 : 0.0;
    double t3 = t1 * 4294967296.0;
    double t4 = t2 != 0.0 ? t3 : t1;
    double t5 = t2 != 0.0 ? 32.0 : 0.0;
    double t6 = 0.0 + t5;
    double t7 = t4 < 2.1579186437577746e-05 ? 1.0 : 0.0;
    double t8 = t4 * 65536.0;
    double t9 = t7 != 0.0 ? t8 : t4;
    double t10 = t7 != 0.0 ? 16.0 : 0.0;
    double t11 = t6 + t10;
    double t12 = t9 < 0.005524271728019903 ? 1.0 : 0.0;
    double t13 = t9 * 256.0;
    double t14 = t12 != 0.0 ? t13 : t9;
    double t15 = t12 != 0.0 ? 8.0 : 0.0;
    double t16 = t11 + t15;
    double t17 = t14 < 0.08838834764831845 ? 1.0 : 0.0;
    double t18 = t14 * 16.0;
    double t19 = t17 != 0.0 ? t18 : t14;
    double t20 = t17 != 0.0 ? 4.0 : 0.0;
    double t21 = t16 + t20;
    double t22 = t19 < 0.3535533905932738 ? 1.0 : 0.0;
    double t23 = t19 * 4.0;
    double t24 = t22 != 0.0 ? t23 : t19;
    double t25 = t22 != 0.0 ? 2.0 : 0.0;
    double t26 = t21 + t25;
    double t27 = t24 < 0.7071067811865476 ? 1.0 : 0.0;
    double t28 = t24 * 2.0;
    double t29 = t27 != 0.0 ? t28 : t24;
    double t30 = t27 != 0.0 ? 1.0 : 0.0;
    double t31 = t26 + t30;
    double t32 = t0 <= 0.425 ? 1.0 : 0.0;
    double t33 = a * a;
    double t34 = 0.180625 - t33;
    double t35 = t29 - 1.0;
    double t36 = t29 + 1.0;
    double t37 = t35 / t36;
    double t38 = t37 * t37;
    double t39 = 2.0 * t37;
    double t40 = fma(0.08695652173913043, t38, 0.09523809523809523);
    double t41 = fma(t40, t38, 0.10526315789473684);
    double t42 = fma(t41, t38, 0.11764705882352941);
    double t43 = fma(t42, t38, 0.13333333333333333);
    double t44 = fma(t43, t38, 0.15384615384615385);
    double t45 = fma(t44, t38, 0.18181818181818182);
    double t46 = fma(t45, t38, 0.2222222222222222);
    double t47 = fma(t46, t38, 0.2857142857142857);
    double t48 = fma(t47, t38, 0.4);
    double t49 = fma(t48, t38, 0.6666666666666666);
    double t50 = t38 * t49;
    double t51 = t37 * t50;
    double t52 = t39 + t51;
    double t53 = t31 * 0.6931471805599453;
    double t54 = t31 * 2.3190468138462996e-17;
    double t55 = t52 - t54;
    double t56 = t53 - t55;
    double t57 = sqrt(t56);
    double t58 = t57 - 1.609375;
    double t59 = t32 != 0.0 ? t34 : t58;
    double t60 = t32 != 0.0 ? 4.874765941399952 : 0.001936484131555;
    double t61 = t32 != 0.0 ? 210.31989537018475 : 0.20963087741421632;
    double t62 = t32 != 0.0 ? 3525.5321280702633 : 0.32515651500002074;
    double t63 = t32 != 0.0 ? 29112.39975270957 : 0.18772320550190655;
    double t64 = t32 != 0.0 ? 124185.54730959915 : 0.047442190601387976;
    double t65 = t32 != 0.0 ? 262872.99053463014 : 0.003123829097089151;
    double t66 = t32 != 0.0 ? 241554.11234600906 : (-0.0009533751067216436);
    double t67 = t32 != 0.0 ? 68589.41719068622 : (-0.00019848881439793402);
    double t68 = t32 != 0.0 ? 625.0653257463343 : (-1.1869174058977503e-05);
    double t69 = t32 != 0.0 ? 0.0 : (-1.9072372758089646e-07);
    double t70 = t32 != 0.0 ? 1.0 : 1.0;
    double t71 = t32 != 0.0 ? 49.1689319228536 : 2.155993648802981;
    double t72 = t32 != 0.0 ? 967.9298360519299 : 1.9132013575255338;
    double t73 = t32 != 0.0 ? 9787.108554703833 : 0.9111602052674423;
    double t74 = t32 != 0.0 ? 54319.38891329771 : 0.25364165036933073;
    double t75 = t32 != 0.0 ? 164325.09657993075 : 0.041581289138705665;
    double t76 = t32 != 0.0 ? 253716.0996585381 : 0.0037606478790817447;
    double t77 = t32 != 0.0 ? 171982.98098109593 : 0.00015994519723651622;
    double t78 = t32 != 0.0 ? 35509.46431808934 : 2.2237433773483424e-06;
    double t79 = fma(t69, t59, t68);
    double t80 = fma(t79, t59, t67);
    double t81 = fma(t80, t59, t66);
    double t82 = fma(t81, t59, t65);
    double t83 = fma(t82, t59, t64);
    double t84 = fma(t83, t59, t63);
    double t85 = fma(t84, t59, t62);
    double t86 = fma(t85, t59, t61);
    double t87 = fma(t86, t59, t60);
    double t88 = fma(t78, t59, t77);
    double t89 = fma(t88, t59, t76);
    double t90 = fma(t89, t59, t75);
    double t91 = fma(t90, t59, t74);
    double t92 = fma(t91, t59, t73);
    double t93 = fma(t92, t59, t72);
    double t94 = fma(t93, t59, t71);
    double t95 = fma(t94, t59, t70);
    double t96 = t87 / t95;
    double t97 = 1.5 * t59;
    double t98 = 1.4375 + t97;
    double t99 = t98 + t96;
    double t100 = t33 * t96;
    double t101 = 2.5066282746310002 + t100;
    double t102 = a * t101;
    double t103 = a < 0.0 ? 1.0 : 0.0;
    double t104 = -t99;
    double t105 = t103 != 0.0 ? t104 : t99;
    double t106 = t32 != 0.0 ? t102 : t105;
    double t107 = t0 < 0.5 ? 1.0 : 0.0;
    double t108 = t0 == 0.5 ? 1.0 : 0.0;
    double t109 = a / 0.0;
    double t110 = t108 != 0.0 ? t109 : NAN;
    double t111 = t107 != 0.0 ? t106 : t110;
    return t111;
}

static inline double partial0_probit(double a, double y) {
    (void)a;
    double t0 = y * y;
    double t1 = 0.5 * t0;
    double t2 = exp(t1);
    double t3 = 2.5066282746310002 * t2;
    return t3;
}

static inline double value_sum(const double *x, Py_ssize_t n) {
    double v0 = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double t1 = v0 + x[i];
        v0 = t1;
    }
    return v0;
}

static inline void partials_sum(const double *x, Py_ssize_t n, double y, double *partial) {
    (void)x;
    (void)y;
    for (Py_ssize_t i = 0; i < n; i++) {
        partial[i] = 1.0;
    }
}

static inline double value_prod(const double *x, Py_ssize_t n) {
    double v0 = 1.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double t1 = v0 * x[i];
        v0 = t1;
    }
    return v0;
}

static inline void partials_prod(const double *x, Py_ssize_t n, double y, double *partial) {
    (void)y;
    double v0 = 1.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        partial[i] = v0;
        double t1 = v0 * x[i];
        v0 = t1;
    }
    double v2 = 1.0;
    for (Py_ssize_t i = n - 1; i >= 0; i--) {
        double t3 = partial[i] * v2;
        partial[i] = t3;
        double t4 = v2 * x[i];
        v2 = t4;
    }
}

static inline double value_mean(const double *x, Py_ssize_t n) {
    double v0 = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double t1 = v0 + x[i];
        v0 = t1;
    }
    double t2 = v0 / (double)n;
    return t2;
}

static inline void partials_mean(const double *x, Py_ssize_t n, double y, double *partial) {
    (void)x;
    (void)y;
    double t0 = 1.0 / (double)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        partial[i] = t0;
    }
}

static inline double value_dot(const double *x, Py_ssize_t n) {
    Py_ssize_t half = n / 2;
    double v0 = 0.0;
    for (Py_ssize_t i = 0; i < half; i++) {
        double t1 = x[i] * x[half + i];
        double t2 = v0 + t1;
        v0 = t2;
    }
    return v0;
}

static inline void partials_dot(const double *x, Py_ssize_t n, double y, double *partial) {
    (void)y;
    Py_ssize_t half = n / 2;
    for (Py_ssize_t i = 0; i < half; i++) {
        partial[i] = x[half + i];
    }
    for (Py_ssize_t i = half; i < n; i++) {
        partial[i] = x[i - half];
    }
}

static inline double value_logsumexp(const double *x, Py_ssize_t n) {
    double v0 = x[0];
    for (Py_ssize_t i = 1; i < n; i++) {
        double t1 = v0 >= x[i] ? 1.0 : 0.0;
        double t2 = v0 < x[i] ? 1.0 : 0.0;
        double t3 = v0 + x[i];
        double t4 = t2 != 0.0 ? x[i] : t3;
        double t5 = t1 != 0.0 ? v0 : t4;
        v0 = t5;
    }
    double t6 = fabs(v0);
    double t7 = t6 < INFINITY ? 1.0 : 0.0;
    double t8 = t7 != 0.0 ? v0 : 0.0;
    double v9 = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double t10 = x[i] == t8 ? 1.0 : 0.0;
        double t11 = x[i] - t8;
        double t12 = exp(t11);
        double t13 = t10 != 0.0 ? 0.0 : t12;
        double t14 = v9 + t13;
        v9 = t14;
    }
    double v15 = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double t16 = x[i] == t8 ? 1.0 : 0.0;
        double t17 = v15 + t16;
        v15 = t17;
    }
    double t18 = v15 - 1.0;
    double t19 = v9 + t18;
    double t20 = log1p(t19);
    double t21 = t8 + t20;
    return t21;
}

static inline void partials_logsumexp(const double *x, Py_ssize_t n, double y, double *partial) {
    for (Py_ssize_t i = 0; i < n; i++) {
        double t0 = x[i] == y ? 1.0 : 0.0;
        double t1 = t0 != 0.0 ? 0.0 : x[i];
        double t2 = t0 != 0.0 ? 0.0 : y;
        double t3 = t1 - t2;
        double t4 = exp(t3);
        partial[i] = t4;
    }
    double v5 = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double t6 = v5 + partial[i];
        v5 = t6;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        double t7 = partial[i] / v5;
        partial[i] = t7;
    }
}

static inline double list_value(int op, const double *x, Py_ssize_t n) {
    switch (op) {
    case OP_SUM: return value_sum(x, n);
    case OP_PROD: return value_prod(x, n);
    case OP_MEAN: return value_mean(x, n);
    case OP_DOT: return value_dot(x, n);
    case OP_LOGSUMEXP: return value_logsumexp(x, n);
    default: return NAN;
    }
}

static inline void list_partials(int op, const double *x, Py_ssize_t n, double y, double *partial) {
    switch (op) {
    case OP_SUM: partials_sum(x, n, y, partial); return;
    case OP_PROD: partials_prod(x, n, y, partial); return;
    case OP_MEAN: partials_mean(x, n, y, partial); return;
    case OP_DOT: partials_dot(x, n, y, partial); return;
    case OP_LOGSUMEXP: partials_logsumexp(x, n, y, partial); return;
    default: return;
    }
}

static inline double value1(int op, double a) {
    switch (op) {
    case OP_NEG: return value_neg(a);
    case OP_ABS: return value_abs(a);
    case OP_EXP: return value_exp(a);
    case OP_EXP2: return value_exp2(a);
    case OP_EXPM1: return value_expm1(a);
    case OP_LOG: return value_log(a);
    case OP_LOG1P: return value_log1p(a);
    case OP_LOG2: return value_log2(a);
    case OP_LOG10: return value_log10(a);
    case OP_SQRT: return value_sqrt(a);
    case OP_CBRT: return value_cbrt(a);
    case OP_SIN: return value_sin(a);
    case OP_COS: return value_cos(a);
    case OP_TAN: return value_tan(a);
    case OP_ASIN: return value_asin(a);
    case OP_ACOS: return value_acos(a);
    case OP_ATAN: return value_atan(a);
    case OP_SINH: return value_sinh(a);
    case OP_COSH: return value_cosh(a);
    case OP_TANH: return value_tanh(a);
    case OP_ASINH: return value_asinh(a);
    case OP_ACOSH: return value_acosh(a);
    case OP_ATANH: return value_atanh(a);
    case OP_ERF: return value_erf(a);
    case OP_ERFC: return value_erfc(a);
    case OP_SIGMOID: return value_sigmoid(a);
    case OP_SIGMOID_SLOPE: return value_sigmoid_slope(a);
    case OP_RELU: return value_relu(a);
    case OP_SOFTPLUS: return value_softplus(a);
    case OP_SILU: return value_silu(a);
    case OP_GELU: return value_gelu(a);
    case OP_GAMMA: return value_gamma(a);
    case OP_LGAMMA: return value_lgamma(a);
    case OP_DIGAMMA: return value_digamma(a);
    case OP_RELATIVE: return value_relative(a);
    case OP_FLOOR: return value_floor(a);
    case OP_CEIL: return value_ceil(a);
    case OP_ROUND: return value_round(a);
    case OP_TRUNC: return value_trunc(a);
    case OP_SIGN: return value_sign(a);
    case OP_PROBIT: return value_probit(a);
    default: return NAN;
    }
}

static inline double partial10(int op, double a, double y) {
    switch (op) {
    case OP_NEG: return partial0_neg(a, y);
    case OP_ABS: return partial0_abs(a, y);
    case OP_EXP: return partial0_exp(a, y);
    case OP_EXP2: return partial0_exp2(a, y);
    case OP_EXPM1: return partial0_expm1(a, y);
    case OP_LOG: return partial0_log(a, y);
    case OP_LOG1P: return partial0_log1p(a, y);
    case OP_LOG2: return partial0_log2(a, y);
    case OP_LOG10: return partial0_log10(a, y);
    case OP_SQRT: return partial0_sqrt(a, y);
    case OP_CBRT: return partial0_cbrt(a, y);
    case OP_SIN: return partial0_sin(a, y);
    case OP_COS: return partial0_cos(a, y);
    case OP_TAN: return partial0_tan(a, y);
    case OP_ASIN: return partial0_asin(a, y);
    case OP_ACOS: return partial0_acos(a, y);
    case OP_ATAN: return partial0_atan(a, y);
    case OP_SINH: return partial0_sinh(a, y);
    case OP_COSH: return partial0_cosh(a, y);
    case OP_TANH: return partial0_tanh(a, y);
    case OP_ASINH: return partial0_asinh(a, y);
    case OP_ACOSH: return partial0_acosh(a, y);
    case OP_ATANH: return partial0_atanh(a, y);
    case OP_ERF: return partial0_erf(a, y);
    case OP_ERFC: return partial0_erfc(a, y);
    case OP_SIGMOID: return partial0_sigmoid(a, y);
    case OP_SIGMOID_SLOPE: return partial0_sigmoid_slope(a, y);
    case OP_RELU: return partial0_relu(a, y);
    case OP_SOFTPLUS: return partial0_softplus(a, y);
    case OP_SILU: return partial0_silu(a, y);
    case OP_GELU: return partial0_gelu(a, y);
    case OP_GAMMA: return partial0_gamma(a, y);
    case OP_LGAMMA: return partial0_lgamma(a, y);
    case OP_DIGAMMA: return partial0_digamma(a, y);
    case OP_RELATIVE: return partial0_relative(a, y);
    case OP_FLOOR: return partial0_floor(a, y);
    case OP_CEIL: return partial0_ceil(a, y);
    case OP_ROUND: return partial0_round(a, y);
    case OP_TRUNC: return partial0_trunc(a, y);
    case OP_SIGN: return partial0_sign(a, y);
    case OP_PROBIT: return partial0_probit(a, y);
    default: return NAN;
    }
}

static inline double value2(int op, double a, double b) {
    switch (op) {
    case OP_ADD: return value_add(a, b);
    case OP_SUB: return value_sub(a, b);
    case OP_MUL: return value_mul(a, b);
    case OP_DIV: return value_div(a, b);
    case OP_FLOORDIV: return value_floordiv(a, b);
    case OP_MOD: return value_mod(a, b);
    case OP_POW: return value_pow(a, b);
    case OP_FMOD: return value_fmod(a, b);
    case OP_REMAINDER: return value_remainder(a, b);
    case OP_COPYSIGN: return value_copysign(a, b);
    case OP_MIN: return value_min(a, b);
    case OP_MAX: return value_max(a, b);
    case OP_ATAN2: return value_atan2(a, b);
    case OP_HYPOT: return value_hypot(a, b);
    case OP_LEAKY_RELU: return value_leaky_relu(a, b);
    case OP_ELU: return value_elu(a, b);
    case OP_ZETA: return value_zeta(a, b);
    case OP_RELATIVE_BASE: return value_relative_base(a, b);
    case OP_LT: return value_lt(a, b);
    case OP_LE: return value_le(a, b);
    case OP_GT: return value_gt(a, b);
    case OP_GE: return value_ge(a, b);
    case OP_EQ: return value_eq(a, b);
    case OP_NE: return value_ne(a, b);
    default: return NAN;
    }
}

static inline double partial20(int op, double a, double b, double y) {
    switch (op) {
    case OP_ADD: return partial0_add(a, b, y);
    case OP_SUB: return partial0_sub(a, b, y);
    case OP_MUL: return partial0_mul(a, b, y);
    case OP_DIV: return partial0_div(a, b, y);
    case OP_FLOORDIV: return partial0_floordiv(a, b, y);
    case OP_MOD: return partial0_mod(a, b, y);
    case OP_POW: return partial0_pow(a, b, y);
    case OP_FMOD: return partial0_fmod(a, b, y);
    case OP_REMAINDER: return partial0_remainder(a, b, y);
    case OP_COPYSIGN: return partial0_copysign(a, b, y);
    case OP_MIN: return partial0_min(a, b, y);
    case OP_MAX: return partial0_max(a, b, y);
    case OP_ATAN2: return partial0_atan2(a, b, y);
    case OP_HYPOT: return partial0_hypot(a, b, y);
    case OP_LEAKY_RELU: return partial0_leaky_relu(a, b, y);
    case OP_ELU: return partial0_elu(a, b, y);
    case OP_ZETA: return partial0_zeta(a, b, y);
    case OP_RELATIVE_BASE: return partial0_relative_base(a, b, y);
    case OP_LT: return partial0_lt(a, b, y);
    case OP_LE: return partial0_le(a, b, y);
    case OP_GT: return partial0_gt(a, b, y);
    case OP_GE: return partial0_ge(a, b, y);
    case OP_EQ: return partial0_eq(a, b, y);
    case OP_NE: return partial0_ne(a, b, y);
    default: return NAN;
    }
}

static inline double partial21(int op, double a, double b, double y) {
    switch (op) {
    case OP_ADD: return partial1_add(a, b, y);
    case OP_SUB: return partial1_sub(a, b, y);
    case OP_MUL: return partial1_mul(a, b, y);
    case OP_DIV: return partial1_div(a, b, y);
    case OP_FLOORDIV: return partial1_floordiv(a, b, y);
    case OP_MOD: return partial1_mod(a, b, y);
    case OP_POW: return partial1_pow(a, b, y);
    case OP_FMOD: return partial1_fmod(a, b, y);
    case OP_REMAINDER: return partial1_remainder(a, b, y);
    case OP_COPYSIGN: return partial1_copysign(a, b, y);
    case OP_MIN: return partial1_min(a, b, y);
    case OP_MAX: return partial1_max(a, b, y);
    case OP_ATAN2: return partial1_atan2(a, b, y);
    case OP_HYPOT: return partial1_hypot(a, b, y);
    case OP_LEAKY_RELU: return partial1_leaky_relu(a, b, y);
    case OP_ELU: return partial1_elu(a, b, y);
    case OP_ZETA: return partial1_zeta(a, b, y);
    case OP_RELATIVE_BASE: return partial1_relative_base(a, b, y);
    case OP_LT: return partial1_lt(a, b, y);
    case OP_LE: return partial1_le(a, b, y);
    case OP_GT: return partial1_gt(a, b, y);
    case OP_GE: return partial1_ge(a, b, y);
    case OP_EQ: return partial1_eq(a, b, y);
    case OP_NE: return partial1_ne(a, b, y);
    default: return NAN;
    }
}

static inline double value3(int op, double a, double b, double c) {
    switch (op) {
    case OP_FMA: return value_fma(a, b, c);
    case OP_QUOTIENT: return value_quotient(a, b, c);
    case OP_POWER: return value_power(a, b, c);
    case OP_HYPOT_SLOPE: return value_hypot_slope(a, b, c);
    case OP_WHERE: return value_where(a, b, c);
    case OP_PHILOX: return value_philox(a, b, c);
    case OP_NORMAL: return value_normal(a, b, c);
    default: return NAN;
    }
}

static inline double partial30(int op, double a, double b, double c, double y) {
    switch (op) {
    case OP_FMA: return partial0_fma(a, b, c, y);
    case OP_QUOTIENT: return partial0_quotient(a, b, c, y);
    case OP_POWER: return partial0_power(a, b, c, y);
    case OP_HYPOT_SLOPE: return partial0_hypot_slope(a, b, c, y);
    case OP_WHERE: return partial0_where(a, b, c, y);
    case OP_PHILOX: return partial0_philox(a, b, c, y);
    case OP_NORMAL: return partial0_normal(a, b, c, y);
    default: return NAN;
    }
}

static inline double partial31(int op, double a, double b, double c, double y) {
    switch (op) {
    case OP_FMA: return partial1_fma(a, b, c, y);
    case OP_QUOTIENT: return partial1_quotient(a, b, c, y);
    case OP_POWER: return partial1_power(a, b, c, y);
    case OP_HYPOT_SLOPE: return partial1_hypot_slope(a, b, c, y);
    case OP_WHERE: return partial1_where(a, b, c, y);
    case OP_PHILOX: return partial1_philox(a, b, c, y);
    case OP_NORMAL: return partial1_normal(a, b, c, y);
    default: return NAN;
    }
}

static inline double partial32(int op, double a, double b, double c, double y) {
    switch (op) {
    case OP_FMA: return partial2_fma(a, b, c, y);
    case OP_QUOTIENT: return partial2_quotient(a, b, c, y);
    case OP_POWER: return partial2_power(a, b, c, y);
    case OP_HYPOT_SLOPE: return partial2_hypot_slope(a, b, c, y);
    case OP_WHERE: return partial2_where(a, b, c, y);
    case OP_PHILOX: return partial2_philox(a, b, c, y);
    case OP_NORMAL: return partial2_normal(a, b, c, y);
    default: return NAN;
    }
}

/* The ops that are methods of Value. */
#define METHODS \
    METHOD2(fmod, OP_FMOD) \
    METHOD2(remainder, OP_REMAINDER) \
    METHOD1(neg, OP_NEG) \
    METHOD1(abs, OP_ABS) \
    METHOD2(copysign, OP_COPYSIGN) \
    METHOD2(min, OP_MIN) \
    METHOD2(max, OP_MAX) \
    METHOD1(exp, OP_EXP) \
    METHOD1(exp2, OP_EXP2) \
    METHOD1(expm1, OP_EXPM1) \
    METHOD1(log, OP_LOG) \
    METHOD1(log1p, OP_LOG1P) \
    METHOD1(log2, OP_LOG2) \
    METHOD1(log10, OP_LOG10) \
    METHOD1(sqrt, OP_SQRT) \
    METHOD1(cbrt, OP_CBRT) \
    METHOD1(sin, OP_SIN) \
    METHOD1(cos, OP_COS) \
    METHOD1(tan, OP_TAN) \
    METHOD1(asin, OP_ASIN) \
    METHOD1(acos, OP_ACOS) \
    METHOD1(atan, OP_ATAN) \
    METHOD2(atan2, OP_ATAN2) \
    METHOD1(sinh, OP_SINH) \
    METHOD1(cosh, OP_COSH) \
    METHOD1(tanh, OP_TANH) \
    METHOD1(asinh, OP_ASINH) \
    METHOD1(acosh, OP_ACOSH) \
    METHOD1(atanh, OP_ATANH) \
    METHOD2(hypot, OP_HYPOT) \
    METHOD1(erf, OP_ERF) \
    METHOD1(erfc, OP_ERFC) \
    METHOD1(sigmoid, OP_SIGMOID) \
    METHOD1(sigmoid_slope, OP_SIGMOID_SLOPE) \
    METHOD1(relu, OP_RELU) \
    METHOD2(leaky_relu, OP_LEAKY_RELU) \
    METHOD2(elu, OP_ELU) \
    METHOD1(softplus, OP_SOFTPLUS) \
    METHOD1(silu, OP_SILU) \
    METHOD1(gelu, OP_GELU) \
    METHOD1(gamma, OP_GAMMA) \
    METHOD1(lgamma, OP_LGAMMA) \
    METHOD1(digamma, OP_DIGAMMA) \
    METHOD2(zeta, OP_ZETA) \
    METHOD1(floor, OP_FLOOR) \
    METHOD1(ceil, OP_CEIL) \
    METHOD1(round, OP_ROUND) \
    METHOD1(trunc, OP_TRUNC) \
    METHOD1(sign, OP_SIGN) \
    METHOD1(probit, OP_PROBIT)

#define METHOD_ROWS \
    METHOD2_ROW(fmod, ", other") \
    METHOD2_ROW(remainder, ", other") \
    METHOD1_ROW(neg, "") \
    METHOD1_ROW(abs, "") \
    METHOD2_ROW(copysign, ", other") \
    METHOD2_ROW(min, ", other") \
    METHOD2_ROW(max, ", other") \
    METHOD1_ROW(exp, "") \
    METHOD1_ROW(exp2, "") \
    METHOD1_ROW(expm1, "") \
    METHOD1_ROW(log, "") \
    METHOD1_ROW(log1p, "") \
    METHOD1_ROW(log2, "") \
    METHOD1_ROW(log10, "") \
    METHOD1_ROW(sqrt, "") \
    METHOD1_ROW(cbrt, "") \
    METHOD1_ROW(sin, "") \
    METHOD1_ROW(cos, "") \
    METHOD1_ROW(tan, "") \
    METHOD1_ROW(asin, "") \
    METHOD1_ROW(acos, "") \
    METHOD1_ROW(atan, "") \
    METHOD2_ROW(atan2, ", other") \
    METHOD1_ROW(sinh, "") \
    METHOD1_ROW(cosh, "") \
    METHOD1_ROW(tanh, "") \
    METHOD1_ROW(asinh, "") \
    METHOD1_ROW(acosh, "") \
    METHOD1_ROW(atanh, "") \
    METHOD2_ROW(hypot, ", other") \
    METHOD1_ROW(erf, "") \
    METHOD1_ROW(erfc, "") \
    METHOD1_ROW(sigmoid, "") \
    METHOD1_ROW(sigmoid_slope, "") \
    METHOD1_ROW(relu, "") \
    METHOD2_ROW(leaky_relu, ", other=0.01") \
    METHOD2_ROW(elu, ", other=1.0") \
    METHOD1_ROW(softplus, "") \
    METHOD1_ROW(silu, "") \
    METHOD1_ROW(gelu, "") \
    METHOD1_ROW(gamma, "") \
    METHOD1_ROW(lgamma, "") \
    METHOD1_ROW(digamma, "") \
    METHOD2_ROW(zeta, ", other") \
    METHOD1_ROW(floor, "") \
    METHOD1_ROW(ceil, "") \
    METHOD1_ROW(round, "") \
    METHOD1_ROW(trunc, "") \
    METHOD1_ROW(sign, "") \
    METHOD1_ROW(probit, "")
