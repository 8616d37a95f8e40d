/* Made by tools/gen_optim_h.py from optim/rules.py: do not edit. Included by optim.c alone.

   A rule moves n parameters p by their gradients g; kept[k] holds the k-th number that it keeps for each parameter, c the
   constants of the step. */

CLONES
static void rule_sgd_none_false_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    const double c_lr = c[0];
    const double c_turn = c[1];
    (void)kept;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_lr * t0;
        const double t2 = p[i] - t1;
        p[i] = t2;
    }
}

CLONES
static void rule_sgd_none_false_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    const double c_lr = c[0];
    const double c_turn = c[1];
    (void)kept;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_lr * t0;
        const double t2 = p[i] - t1;
        p[i] = t2;
    }
}

CLONES
static void rule_sgd_none_true_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* speed */
    const double c_lr = c[0];
    const double c_momentum = c[1];
    const double c_fresh = c[2];
    const double c_turn = c[3];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_momentum * k0[i];
        const double t2 = c_fresh * t0;
        const double t3 = t1 + t2;
        const double t4 = c_lr * t3;
        const double t5 = p[i] - t4;
        p[i] = t5;
        k0[i] = t3;
    }
}

CLONES
static void rule_sgd_none_true_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* speed */
    const double c_lr = c[0];
    const double c_momentum = c[1];
    const double c_fresh = c[2];
    const double c_turn = c[3];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_momentum * k0[i];
        const double t2 = c_fresh * t0;
        const double t3 = t1 + t2;
        const double t4 = c_momentum * t3;
        const double t5 = t0 + t4;
        const double t6 = c_lr * t5;
        const double t7 = p[i] - t6;
        p[i] = t7;
        k0[i] = t3;
    }
}

CLONES
static void rule_sgd_coupled_false_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    const double c_lr = c[0];
    const double c_turn = c[1];
    const double c_weight_decay = c[2];
    (void)kept;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_lr * t2;
        const double t4 = p[i] - t3;
        p[i] = t4;
    }
}

CLONES
static void rule_sgd_coupled_false_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    const double c_lr = c[0];
    const double c_turn = c[1];
    const double c_weight_decay = c[2];
    (void)kept;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_lr * t2;
        const double t4 = p[i] - t3;
        p[i] = t4;
    }
}

CLONES
static void rule_sgd_coupled_true_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* speed */
    const double c_lr = c[0];
    const double c_momentum = c[1];
    const double c_fresh = c[2];
    const double c_turn = c[3];
    const double c_weight_decay = c[4];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_momentum * k0[i];
        const double t4 = c_fresh * t2;
        const double t5 = t3 + t4;
        const double t6 = c_lr * t5;
        const double t7 = p[i] - t6;
        p[i] = t7;
        k0[i] = t5;
    }
}

CLONES
static void rule_sgd_coupled_true_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* speed */
    const double c_lr = c[0];
    const double c_momentum = c[1];
    const double c_fresh = c[2];
    const double c_turn = c[3];
    const double c_weight_decay = c[4];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_momentum * k0[i];
        const double t4 = c_fresh * t2;
        const double t5 = t3 + t4;
        const double t6 = c_momentum * t5;
        const double t7 = t2 + t6;
        const double t8 = c_lr * t7;
        const double t9 = p[i] - t8;
        p[i] = t9;
        k0[i] = t5;
    }
}

CLONES
static void rule_adam_none_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    const double c_size = c[0];
    const double c_lift = c[1];
    const double c_beta1 = c[2];
    const double c_new1 = c[3];
    const double c_beta2 = c[4];
    const double c_new2 = c[5];
    const double c_eps = c[6];
    const double c_turn = c[7];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_beta1 * k0[i];
        const double t2 = c_new1 * t0;
        const double t3 = t1 + t2;
        const double t4 = c_beta2 * k1[i];
        const double t5 = c_new2 * t0;
        const double t6 = t5 * t0;
        const double t7 = t4 + t6;
        const double t8 = c_size * t3;
        const double t9 = sqrt(t7);
        const double t10 = t9 * c_lift;
        const double t11 = t10 + c_eps;
        const double t12 = t8 / t11;
        const double t13 = p[i] - t12;
        p[i] = t13;
        k0[i] = t3;
        k1[i] = t7;
    }
}

CLONES
static void rule_adam_none_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    double *restrict k2 = kept[2]; /* most */
    const double c_size = c[0];
    const double c_lift = c[1];
    const double c_beta1 = c[2];
    const double c_new1 = c[3];
    const double c_beta2 = c[4];
    const double c_new2 = c[5];
    const double c_eps = c[6];
    const double c_turn = c[7];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_beta1 * k0[i];
        const double t2 = c_new1 * t0;
        const double t3 = t1 + t2;
        const double t4 = c_beta2 * k1[i];
        const double t5 = c_new2 * t0;
        const double t6 = t5 * t0;
        const double t7 = t4 + t6;
        const double t8 = t7 > k2[i] ? t7 : k2[i];
        const double t9 = c_size * t3;
        const double t10 = sqrt(t8);
        const double t11 = t10 * c_lift;
        const double t12 = t11 + c_eps;
        const double t13 = t9 / t12;
        const double t14 = p[i] - t13;
        p[i] = t14;
        k0[i] = t3;
        k1[i] = t7;
        k2[i] = t8;
    }
}

CLONES
static void rule_adam_coupled_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    const double c_size = c[0];
    const double c_lift = c[1];
    const double c_beta1 = c[2];
    const double c_new1 = c[3];
    const double c_beta2 = c[4];
    const double c_new2 = c[5];
    const double c_eps = c[6];
    const double c_turn = c[7];
    const double c_weight_decay = c[8];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_beta1 * k0[i];
        const double t4 = c_new1 * t2;
        const double t5 = t3 + t4;
        const double t6 = c_beta2 * k1[i];
        const double t7 = c_new2 * t2;
        const double t8 = t7 * t2;
        const double t9 = t6 + t8;
        const double t10 = c_size * t5;
        const double t11 = sqrt(t9);
        const double t12 = t11 * c_lift;
        const double t13 = t12 + c_eps;
        const double t14 = t10 / t13;
        const double t15 = p[i] - t14;
        p[i] = t15;
        k0[i] = t5;
        k1[i] = t9;
    }
}

CLONES
static void rule_adam_coupled_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    double *restrict k2 = kept[2]; /* most */
    const double c_size = c[0];
    const double c_lift = c[1];
    const double c_beta1 = c[2];
    const double c_new1 = c[3];
    const double c_beta2 = c[4];
    const double c_new2 = c[5];
    const double c_eps = c[6];
    const double c_turn = c[7];
    const double c_weight_decay = c[8];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_beta1 * k0[i];
        const double t4 = c_new1 * t2;
        const double t5 = t3 + t4;
        const double t6 = c_beta2 * k1[i];
        const double t7 = c_new2 * t2;
        const double t8 = t7 * t2;
        const double t9 = t6 + t8;
        const double t10 = t9 > k2[i] ? t9 : k2[i];
        const double t11 = c_size * t5;
        const double t12 = sqrt(t10);
        const double t13 = t12 * c_lift;
        const double t14 = t13 + c_eps;
        const double t15 = t11 / t14;
        const double t16 = p[i] - t15;
        p[i] = t16;
        k0[i] = t5;
        k1[i] = t9;
        k2[i] = t10;
    }
}

CLONES
static void rule_adam_decoupled_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    const double c_size = c[0];
    const double c_lift = c[1];
    const double c_beta1 = c[2];
    const double c_new1 = c[3];
    const double c_beta2 = c[4];
    const double c_new2 = c[5];
    const double c_eps = c[6];
    const double c_turn = c[7];
    const double c_shrink = c[8];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = p[i] * c_shrink;
        const double t2 = c_beta1 * k0[i];
        const double t3 = c_new1 * t0;
        const double t4 = t2 + t3;
        const double t5 = c_beta2 * k1[i];
        const double t6 = c_new2 * t0;
        const double t7 = t6 * t0;
        const double t8 = t5 + t7;
        const double t9 = c_size * t4;
        const double t10 = sqrt(t8);
        const double t11 = t10 * c_lift;
        const double t12 = t11 + c_eps;
        const double t13 = t9 / t12;
        const double t14 = t1 - t13;
        p[i] = t14;
        k0[i] = t4;
        k1[i] = t8;
    }
}

CLONES
static void rule_adam_decoupled_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    double *restrict k2 = kept[2]; /* most */
    const double c_size = c[0];
    const double c_lift = c[1];
    const double c_beta1 = c[2];
    const double c_new1 = c[3];
    const double c_beta2 = c[4];
    const double c_new2 = c[5];
    const double c_eps = c[6];
    const double c_turn = c[7];
    const double c_shrink = c[8];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = p[i] * c_shrink;
        const double t2 = c_beta1 * k0[i];
        const double t3 = c_new1 * t0;
        const double t4 = t2 + t3;
        const double t5 = c_beta2 * k1[i];
        const double t6 = c_new2 * t0;
        const double t7 = t6 * t0;
        const double t8 = t5 + t7;
        const double t9 = t8 > k2[i] ? t8 : k2[i];
        const double t10 = c_size * t4;
        const double t11 = sqrt(t9);
        const double t12 = t11 * c_lift;
        const double t13 = t12 + c_eps;
        const double t14 = t10 / t13;
        const double t15 = t1 - t14;
        p[i] = t15;
        k0[i] = t4;
        k1[i] = t8;
        k2[i] = t9;
    }
}

CLONES
static void rule_nadam_none(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    const double c_now = c[0];
    const double c_ahead = c[1];
    const double c_left = c[2];
    const double c_beta1 = c[3];
    const double c_new1 = c[4];
    const double c_beta2 = c[5];
    const double c_new2 = c[6];
    const double c_eps = c[7];
    const double c_turn = c[8];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_beta1 * k0[i];
        const double t2 = c_new1 * t0;
        const double t3 = t1 + t2;
        const double t4 = c_beta2 * k1[i];
        const double t5 = c_new2 * t0;
        const double t6 = t5 * t0;
        const double t7 = t4 + t6;
        const double t8 = t7 / c_left;
        const double t9 = sqrt(t8);
        const double t10 = t9 + c_eps;
        const double t11 = c_now * t0;
        const double t12 = t11 / t10;
        const double t13 = p[i] - t12;
        const double t14 = c_ahead * t3;
        const double t15 = t14 / t10;
        const double t16 = t13 - t15;
        p[i] = t16;
        k0[i] = t3;
        k1[i] = t7;
    }
}

CLONES
static void rule_nadam_coupled(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    const double c_now = c[0];
    const double c_ahead = c[1];
    const double c_left = c[2];
    const double c_beta1 = c[3];
    const double c_new1 = c[4];
    const double c_beta2 = c[5];
    const double c_new2 = c[6];
    const double c_eps = c[7];
    const double c_turn = c[8];
    const double c_weight_decay = c[9];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_beta1 * k0[i];
        const double t4 = c_new1 * t2;
        const double t5 = t3 + t4;
        const double t6 = c_beta2 * k1[i];
        const double t7 = c_new2 * t2;
        const double t8 = t7 * t2;
        const double t9 = t6 + t8;
        const double t10 = t9 / c_left;
        const double t11 = sqrt(t10);
        const double t12 = t11 + c_eps;
        const double t13 = c_now * t2;
        const double t14 = t13 / t12;
        const double t15 = p[i] - t14;
        const double t16 = c_ahead * t5;
        const double t17 = t16 / t12;
        const double t18 = t15 - t17;
        p[i] = t18;
        k0[i] = t5;
        k1[i] = t9;
    }
}

CLONES
static void rule_nadam_decoupled(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    double *restrict k1 = kept[1]; /* square */
    const double c_now = c[0];
    const double c_ahead = c[1];
    const double c_left = c[2];
    const double c_beta1 = c[3];
    const double c_new1 = c[4];
    const double c_beta2 = c[5];
    const double c_new2 = c[6];
    const double c_eps = c[7];
    const double c_turn = c[8];
    const double c_shrink = c[9];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = p[i] * c_shrink;
        const double t2 = c_beta1 * k0[i];
        const double t3 = c_new1 * t0;
        const double t4 = t2 + t3;
        const double t5 = c_beta2 * k1[i];
        const double t6 = c_new2 * t0;
        const double t7 = t6 * t0;
        const double t8 = t5 + t7;
        const double t9 = t8 / c_left;
        const double t10 = sqrt(t9);
        const double t11 = t10 + c_eps;
        const double t12 = c_now * t0;
        const double t13 = t12 / t11;
        const double t14 = t1 - t13;
        const double t15 = c_ahead * t4;
        const double t16 = t15 / t11;
        const double t17 = t14 - t16;
        p[i] = t17;
        k0[i] = t4;
        k1[i] = t8;
    }
}

CLONES
static void rule_rmsprop_none_false_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_turn = c[4];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_alpha * k0[i];
        const double t2 = c_new * t0;
        const double t3 = t2 * t0;
        const double t4 = t1 + t3;
        const double t5 = sqrt(t4);
        const double t6 = t5 + c_eps;
        const double t7 = t0 / t6;
        const double t8 = c_lr * t7;
        const double t9 = p[i] - t8;
        p[i] = t9;
        k0[i] = t4;
    }
}

CLONES
static void rule_rmsprop_none_false_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    double *restrict k1 = kept[1]; /* speed */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_momentum = c[4];
    const double c_turn = c[5];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_alpha * k0[i];
        const double t2 = c_new * t0;
        const double t3 = t2 * t0;
        const double t4 = t1 + t3;
        const double t5 = sqrt(t4);
        const double t6 = t5 + c_eps;
        const double t7 = t0 / t6;
        const double t8 = c_momentum * k1[i];
        const double t9 = t8 + t7;
        const double t10 = c_lr * t9;
        const double t11 = p[i] - t10;
        p[i] = t11;
        k0[i] = t4;
        k1[i] = t9;
    }
}

CLONES
static void rule_rmsprop_none_true_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    double *restrict k1 = kept[1]; /* mean */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_turn = c[4];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_alpha * k0[i];
        const double t2 = c_new * t0;
        const double t3 = t2 * t0;
        const double t4 = t1 + t3;
        const double t5 = c_alpha * k1[i];
        const double t6 = c_new * t0;
        const double t7 = t5 + t6;
        const double t8 = t7 * t7;
        const double t9 = t4 - t8;
        const double t10 = t9 > 0.0 ? t9 : 0.0;
        const double t11 = sqrt(t10);
        const double t12 = t11 + c_eps;
        const double t13 = t0 / t12;
        const double t14 = c_lr * t13;
        const double t15 = p[i] - t14;
        p[i] = t15;
        k0[i] = t4;
        k1[i] = t7;
    }
}

CLONES
static void rule_rmsprop_none_true_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    double *restrict k1 = kept[1]; /* mean */
    double *restrict k2 = kept[2]; /* speed */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_momentum = c[4];
    const double c_turn = c[5];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_alpha * k0[i];
        const double t2 = c_new * t0;
        const double t3 = t2 * t0;
        const double t4 = t1 + t3;
        const double t5 = c_alpha * k1[i];
        const double t6 = c_new * t0;
        const double t7 = t5 + t6;
        const double t8 = t7 * t7;
        const double t9 = t4 - t8;
        const double t10 = t9 > 0.0 ? t9 : 0.0;
        const double t11 = sqrt(t10);
        const double t12 = t11 + c_eps;
        const double t13 = t0 / t12;
        const double t14 = c_momentum * k2[i];
        const double t15 = t14 + t13;
        const double t16 = c_lr * t15;
        const double t17 = p[i] - t16;
        p[i] = t17;
        k0[i] = t4;
        k1[i] = t7;
        k2[i] = t15;
    }
}

CLONES
static void rule_rmsprop_coupled_false_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_turn = c[4];
    const double c_weight_decay = c[5];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_alpha * k0[i];
        const double t4 = c_new * t2;
        const double t5 = t4 * t2;
        const double t6 = t3 + t5;
        const double t7 = sqrt(t6);
        const double t8 = t7 + c_eps;
        const double t9 = t2 / t8;
        const double t10 = c_lr * t9;
        const double t11 = p[i] - t10;
        p[i] = t11;
        k0[i] = t6;
    }
}

CLONES
static void rule_rmsprop_coupled_false_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    double *restrict k1 = kept[1]; /* speed */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_momentum = c[4];
    const double c_turn = c[5];
    const double c_weight_decay = c[6];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_alpha * k0[i];
        const double t4 = c_new * t2;
        const double t5 = t4 * t2;
        const double t6 = t3 + t5;
        const double t7 = sqrt(t6);
        const double t8 = t7 + c_eps;
        const double t9 = t2 / t8;
        const double t10 = c_momentum * k1[i];
        const double t11 = t10 + t9;
        const double t12 = c_lr * t11;
        const double t13 = p[i] - t12;
        p[i] = t13;
        k0[i] = t6;
        k1[i] = t11;
    }
}

CLONES
static void rule_rmsprop_coupled_true_false(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    double *restrict k1 = kept[1]; /* mean */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_turn = c[4];
    const double c_weight_decay = c[5];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_alpha * k0[i];
        const double t4 = c_new * t2;
        const double t5 = t4 * t2;
        const double t6 = t3 + t5;
        const double t7 = c_alpha * k1[i];
        const double t8 = c_new * t2;
        const double t9 = t7 + t8;
        const double t10 = t9 * t9;
        const double t11 = t6 - t10;
        const double t12 = t11 > 0.0 ? t11 : 0.0;
        const double t13 = sqrt(t12);
        const double t14 = t13 + c_eps;
        const double t15 = t2 / t14;
        const double t16 = c_lr * t15;
        const double t17 = p[i] - t16;
        p[i] = t17;
        k0[i] = t6;
        k1[i] = t9;
    }
}

CLONES
static void rule_rmsprop_coupled_true_true(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* square */
    double *restrict k1 = kept[1]; /* mean */
    double *restrict k2 = kept[2]; /* speed */
    const double c_lr = c[0];
    const double c_alpha = c[1];
    const double c_new = c[2];
    const double c_eps = c[3];
    const double c_momentum = c[4];
    const double c_turn = c[5];
    const double c_weight_decay = c[6];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = c_alpha * k0[i];
        const double t4 = c_new * t2;
        const double t5 = t4 * t2;
        const double t6 = t3 + t5;
        const double t7 = c_alpha * k1[i];
        const double t8 = c_new * t2;
        const double t9 = t7 + t8;
        const double t10 = t9 * t9;
        const double t11 = t6 - t10;
        const double t12 = t11 > 0.0 ? t11 : 0.0;
        const double t13 = sqrt(t12);
        const double t14 = t13 + c_eps;
        const double t15 = t2 / t14;
        const double t16 = c_momentum * k2[i];
        const double t17 = t16 + t15;
        const double t18 = c_lr * t17;
        const double t19 = p[i] - t18;
        p[i] = t19;
        k0[i] = t6;
        k1[i] = t9;
        k2[i] = t17;
    }
}

CLONES
static void rule_adagrad_none(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* total */
    const double c_lr = c[0];
    const double c_eps = c[1];
    const double c_turn = c[2];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = t0 * t0;
        const double t2 = k0[i] + t1;
        const double t3 = c_lr * t0;
        const double t4 = sqrt(t2);
        const double t5 = t4 + c_eps;
        const double t6 = t3 / t5;
        const double t7 = p[i] - t6;
        p[i] = t7;
        k0[i] = t2;
    }
}

CLONES
static void rule_adagrad_coupled(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* total */
    const double c_lr = c[0];
    const double c_eps = c[1];
    const double c_turn = c[2];
    const double c_weight_decay = c[3];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_weight_decay * p[i];
        const double t2 = t0 + t1;
        const double t3 = t2 * t2;
        const double t4 = k0[i] + t3;
        const double t5 = c_lr * t2;
        const double t6 = sqrt(t4);
        const double t7 = t6 + c_eps;
        const double t8 = t5 / t7;
        const double t9 = p[i] - t8;
        p[i] = t9;
        k0[i] = t4;
    }
}

CLONES
static void rule_lion_none(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    const double c_lr = c[0];
    const double c_beta1 = c[1];
    const double c_new1 = c[2];
    const double c_beta2 = c[3];
    const double c_new2 = c[4];
    const double c_turn = c[5];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = c_beta1 * k0[i];
        const double t2 = c_new1 * t0;
        const double t3 = t1 + t2;
        const double t4 = t3 > 0.0 ? 1.0 : t3 < 0.0 ? -1.0 : t3;
        const double t5 = c_lr * t4;
        const double t6 = p[i] - t5;
        const double t7 = c_beta2 * k0[i];
        const double t8 = c_new2 * t0;
        const double t9 = t7 + t8;
        p[i] = t6;
        k0[i] = t9;
    }
}

CLONES
static void rule_lion_decoupled(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c) {
    double *restrict k0 = kept[0]; /* mean */
    const double c_lr = c[0];
    const double c_beta1 = c[1];
    const double c_new1 = c[2];
    const double c_beta2 = c[3];
    const double c_new2 = c[4];
    const double c_turn = c[5];
    const double c_shrink = c[6];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double t0 = c_turn * g[i];
        const double t1 = p[i] * c_shrink;
        const double t2 = c_beta1 * k0[i];
        const double t3 = c_new1 * t0;
        const double t4 = t2 + t3;
        const double t5 = t4 > 0.0 ? 1.0 : t4 < 0.0 ? -1.0 : t4;
        const double t6 = c_lr * t5;
        const double t7 = t1 - t6;
        const double t8 = c_beta2 * k0[i];
        const double t9 = c_new2 * t0;
        const double t10 = t8 + t9;
        p[i] = t7;
        k0[i] = t10;
    }
}

static const RuleRow RULES[] = {
    {"sgd_none_false_false", rule_sgd_none_false_false, 0, 2},
    {"sgd_none_false_true", rule_sgd_none_false_true, 0, 2},
    {"sgd_none_true_false", rule_sgd_none_true_false, 1, 4},
    {"sgd_none_true_true", rule_sgd_none_true_true, 1, 4},
    {"sgd_coupled_false_false", rule_sgd_coupled_false_false, 0, 3},
    {"sgd_coupled_false_true", rule_sgd_coupled_false_true, 0, 3},
    {"sgd_coupled_true_false", rule_sgd_coupled_true_false, 1, 5},
    {"sgd_coupled_true_true", rule_sgd_coupled_true_true, 1, 5},
    {"adam_none_false", rule_adam_none_false, 2, 8},
    {"adam_none_true", rule_adam_none_true, 3, 8},
    {"adam_coupled_false", rule_adam_coupled_false, 2, 9},
    {"adam_coupled_true", rule_adam_coupled_true, 3, 9},
    {"adam_decoupled_false", rule_adam_decoupled_false, 2, 9},
    {"adam_decoupled_true", rule_adam_decoupled_true, 3, 9},
    {"nadam_none", rule_nadam_none, 2, 9},
    {"nadam_coupled", rule_nadam_coupled, 2, 10},
    {"nadam_decoupled", rule_nadam_decoupled, 2, 10},
    {"rmsprop_none_false_false", rule_rmsprop_none_false_false, 1, 5},
    {"rmsprop_none_false_true", rule_rmsprop_none_false_true, 2, 6},
    {"rmsprop_none_true_false", rule_rmsprop_none_true_false, 2, 5},
    {"rmsprop_none_true_true", rule_rmsprop_none_true_true, 3, 6},
    {"rmsprop_coupled_false_false", rule_rmsprop_coupled_false_false, 1, 6},
    {"rmsprop_coupled_false_true", rule_rmsprop_coupled_false_true, 2, 7},
    {"rmsprop_coupled_true_false", rule_rmsprop_coupled_true_false, 2, 6},
    {"rmsprop_coupled_true_true", rule_rmsprop_coupled_true_true, 3, 7},
    {"adagrad_none", rule_adagrad_none, 1, 3},
    {"adagrad_coupled", rule_adagrad_coupled, 1, 4},
    {"lion_none", rule_lion_none, 1, 6},
    {"lion_decoupled", rule_lion_decoupled, 1, 7},
};
