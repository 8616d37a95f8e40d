/* Hand tracking. x: theta (26), then two numbers for each point where points lie in triangles.
   data: base relatives and inverse base absolutes (16 numbers a bone), base positions (4 a vertex), weights (a row for each vertex),
   points; index: parents, triangles, correspondences; size: bones, vertices, triangles, points, mirrored, in triangles.
   value: 3 differences for each point. gradient: by rows, 2 columns for the point's own numbers where it has them, then theta. */
#include "problem.h"

#define THETA 26
#define ANGLES 20 /* the numbers of theta that bend fingers; 6 before them place the hand */

typedef double matrix[16]; /* 4 × 4, by rows */

struct hand {
    long bones, vertices, triangles, points;
    int mirrored, in_triangles;
    const double *theta, *own, *base, *inverse, *rest, *weights, *measured;
    const int *parents, *corners, *where;
};

static struct hand unpack(const struct problem *given) {
    const long *size = given->size;
    struct hand h = {.bones = size[0], .vertices = size[1], .triangles = size[2], .points = size[3]};
    h.mirrored = (int)size[4], h.in_triangles = (int)size[5];
    h.theta = given->x, h.own = given->x + THETA;
    h.base = given->data, h.inverse = h.base + 16 * h.bones, h.rest = h.inverse + 16 * h.bones;
    h.weights = h.rest + 4 * h.vertices, h.measured = h.weights + h.vertices * h.bones;
    h.parents = given->index, h.corners = h.parents + h.bones, h.where = h.corners + 3 * h.triangles;
    return h;
}

static void product(const double *a, const double *b, double *out) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] + a[4 * i + 3] * b[12 + j];
}

/* Turn about x, y and z; or the slope of that matrix along the angle `by` (0, 1 or 2; -1: none). */
static void turn(const double angles[3], int by, double *out) {
    double c[3], s[3];
    for (int k = 0; k < 3; k++) {
        c[k] = k == by ? -sin(angles[k]) : cos(angles[k]);
        s[k] = k == by ? cos(angles[k]) : sin(angles[k]);
    }
    double one = by < 0 ? 1.0 : 0.0, x = by == 0 ? 0.0 : 1.0, y = by == 1 ? 0.0 : 1.0, z = by == 2 ? 0.0 : 1.0;
    matrix about_x = {x, 0, 0, 0, 0, c[0], -s[0], 0, 0, s[0], c[0], 0, 0, 0, 0, 1};
    matrix about_y = {c[1], 0, s[1], 0, 0, y, 0, 0, -s[1], 0, c[1], 0, 0, 0, 0, 1};
    matrix about_z = {c[2], -s[2], 0, 0, s[2], c[2], 0, 0, 0, 0, z, 0, 0, 0, 0, 1};
    matrix both;
    product(about_z, about_y, both);
    product(both, about_x, out);
    out[15] = one;
}

/* The matrix that turns about an axis (3 × 3, by rows), and its three slopes. */
static void whole_turn(const double *r, double *out, double slopes[3][9]) {
    double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (angle < 0.0001) {
        memcpy(out, identity, sizeof identity);
        memset(slopes, 0, 27 * sizeof(double));
        return;
    }
    double c = cos(angle), s = sin(angle), n[3] = {r[0] / angle, r[1] / angle, r[2] / angle};
    for (int k = -1; k < 3; k++) {
        double *to = k < 0 ? out : slopes[k], dn[3] = {0, 0, 0}, dc = 0, ds = 0;
        for (int i = 0; i < 3 && k >= 0; i++)
            dn[i] = ((i == k) - n[i] * n[k]) / angle;
        if (k >= 0)
            dc = -s * n[k], ds = c * n[k];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int third = 3 - i - j; /* the matrix is c I + (1 - c) n nᵀ + s [n]× */
                double sign = i == j ? 0.0 : (j - i + 3) % 3 == 1 ? -1.0 : 1.0;
                double cross = i == j ? 0.0 : sign * n[third], dcross = i == j ? 0.0 : sign * dn[third];
                to[3 * i + j] = k < 0 ? c * (i == j) + (1.0 - c) * n[i] * n[j] + s * cross
                                      : dc * ((i == j) - n[i] * n[j]) + (1.0 - c) * (dn[i] * n[j] + n[i] * dn[j]) +
                                            ds * cross + s * dcross;
            }
    }
}

struct bend { /* one of the numbers that bend fingers */
    int bone, about;
};

/* Which bones the numbers bend, and the angles of each bone: about x, y and z. */
static void bends(const double *theta, struct bend which[ANGLES], double (*angles)[3], long bones) {
    memset(angles, 0, (size_t)bones * sizeof *angles);
    int k = 0;
    for (int finger = 0; finger < 5; finger++)
        for (int joint = 0; joint < 3; joint++)
            for (int two = 0; two < (joint == 0 ? 2 : 1); two++, k++) {
                which[k] = (struct bend){4 * finger + joint + 2, two ? 2 : 0};
                angles[which[k].bone][which[k].about] = theta[6 + k];
            }
}

struct pose {
    matrix *relatives, *absolutes, *transforms;
    double (*angles)[3];
    struct bend which[ANGLES];
    double rotation[9], slopes[3][9];
};

static struct pose take(const struct hand *h) {
    struct pose p;
    p.relatives = malloc((size_t)h->bones * (3 * sizeof(matrix) + sizeof *p.angles));
    p.absolutes = p.relatives + h->bones, p.transforms = p.absolutes + h->bones;
    p.angles = (double(*)[3])(p.transforms + h->bones);
    bends(h->theta, p.which, p.angles, h->bones);
    for (long b = 0; b < h->bones; b++) {
        matrix turned;
        turn(p.angles[b], -1, turned);
        product(h->base + 16 * b, turned, p.relatives[b]);
        if (h->parents[b] < 0)
            memcpy(p.absolutes[b], p.relatives[b], sizeof(matrix));
        else
            product(p.absolutes[h->parents[b]], p.relatives[b], p.absolutes[b]);
        product(p.absolutes[b], h->inverse + 16 * b, p.transforms[b]);
    }
    whole_turn(h->theta, p.rotation, p.slopes);
    return p;
}

static void move(const double *transform, const double *rest, double share, double *to) {
    for (int i = 0; i < 3; i++) {
        const double *row = transform + 4 * i;
        to[i] += share * (row[0] * rest[0] + row[1] * rest[1] + row[2] * rest[2] + row[3] * rest[3]);
    }
}

static void apply(const double *rotation, const double *v, double *to) {
    for (int i = 0; i < 3; i++)
        to[i] = rotation[3 * i] * v[0] + rotation[3 * i + 1] * v[1] + rotation[3 * i + 2] * v[2];
}

/* The vertices before the hand as a whole is turned. */
static void skin(const struct hand *h, const struct pose *p, double *to) {
    memset(to, 0, (size_t)(3 * h->vertices) * sizeof *to);
    for (long v = 0; v < h->vertices; v++, to += 3) {
        for (long b = 0; b < h->bones; b++)
            if (h->weights[v * h->bones + b] != 0.0)
                move(p->transforms[b], h->rest + 4 * v, h->weights[v * h->bones + b], to);
        if (h->mirrored)
            to[0] = -to[0];
    }
}

/* out (3 a point, `stride` numbers from row to row) = sign * the point of the skin, for vertices with `width` numbers each. */
static void at_points(const struct hand *h, const double *vertices, long width, double *out, long stride) {
    for (long i = 0; i < h->points; i++, out += 3 * stride) {
        const int *corner = h->corners + 3 * h->where[i];
        const double *own = h->own + 2 * i;
        for (int j = 0; j < 3; j++)
            for (long k = 0; k < width / 3; k++) {
                long at = k * 3 + j;
                out[j * stride + k] = !h->in_triangles ? -vertices[width * h->where[i] + at]
                                                       : -(own[0] * vertices[width * corner[0] + at] +
                                                           own[1] * vertices[width * corner[1] + at] +
                                                           (1.0 - own[0] - own[1]) * vertices[width * corner[2] + at]);
            }
    }
}

static void place(const struct hand *h, const struct pose *p, const double *skinned, double *placed) {
    for (long v = 0; v < h->vertices; v++) {
        apply(p->rotation, skinned + 3 * v, placed + 3 * v);
        for (int i = 0; i < 3; i++)
            placed[3 * v + i] += h->theta[3 + i];
    }
}

void value(const struct problem *given, double *out) {
    struct hand h = unpack(given);
    struct pose p = take(&h);
    double *skinned = malloc((size_t)(6 * h.vertices) * sizeof *skinned), *placed = skinned + 3 * h.vertices;
    skin(&h, &p, skinned);
    place(&h, &p, skinned, placed);
    at_points(&h, placed, 3, out, 1);
    for (long i = 0; i < 3 * h.points; i++)
        out[i] += h.measured[i];
    free(p.relatives);
    free(skinned);
}

/* How the transform of each bone changes with each number that bends a finger: room for bones × ANGLES matrices, and flags. */
static void bend_slopes(const struct hand *h, const struct pose *p, matrix *slopes, char *touched) {
    memset(touched, 0, (size_t)(h->bones * ANGLES));
    matrix *absolutes = malloc((size_t)h->bones * sizeof *absolutes), turned, relative;
    for (int k = 0; k < ANGLES; k++) {
        for (long b = p->which[k].bone; b < h->bones; b++) {
            int parent = h->parents[b];
            if (b == p->which[k].bone) {
                turn(p->angles[b], p->which[k].about, turned);
                product(h->base + 16 * b, turned, relative);
                product(p->absolutes[parent], relative, absolutes[b]);
            } else if (parent >= 0 && touched[parent * ANGLES + k])
                product(absolutes[parent], p->relatives[b], absolutes[b]);
            else
                continue;
            touched[b * ANGLES + k] = 1;
            product(absolutes[b], h->inverse + 16 * b, slopes[b * ANGLES + k]);
        }
    }
    free(absolutes);
}

void gradient(const struct problem *given, double *out) {
    struct hand h = unpack(given);
    struct pose p = take(&h);
    long own = h.in_triangles ? 2 : 0, width = own + THETA;
    double *skinned = malloc((size_t)((6 + 3 * THETA) * h.vertices) * sizeof *skinned);
    double *placed = skinned + 3 * h.vertices, *slopes = placed + 3 * h.vertices;
    matrix *by_angle = malloc((size_t)(h.bones * ANGLES) * sizeof *by_angle);
    char *touched = malloc((size_t)(h.bones * ANGLES));
    skin(&h, &p, skinned);
    place(&h, &p, skinned, placed);
    bend_slopes(&h, &p, by_angle, touched);
    for (long v = 0; v < h.vertices; v++) { /* slopes: THETA vectors a vertex */
        double *to = slopes + 3 * THETA * v, bent[ANGLES][3];
        for (int k = 0; k < 3; k++) {
            apply(p.slopes[k], skinned + 3 * v, to + 3 * k);
            for (int i = 0; i < 3; i++)
                to[3 * (3 + k) + i] = i == k;
        }
        memset(bent, 0, sizeof bent);
        for (long b = 0; b < h.bones; b++)
            if (h.weights[v * h.bones + b] != 0.0)
                for (int k = 0; k < ANGLES; k++)
                    if (touched[b * ANGLES + k])
                        move(by_angle[b * ANGLES + k], h.rest + 4 * v, h.weights[v * h.bones + b], bent[k]);
        for (int k = 0; k < ANGLES; k++) {
            if (h.mirrored)
                bent[k][0] = -bent[k][0];
            apply(p.rotation, bent[k], to + 3 * (6 + k));
        }
    }
    at_points(&h, slopes, 3 * THETA, out + own, width);
    for (long i = 0; i < h.points && own; i++) {
        const int *corner = h.corners + 3 * h.where[i];
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                out[(3 * i + j) * width + k] = placed[3 * corner[2] + j] - placed[3 * corner[k] + j];
    }
    free(p.relatives);
    free(skinned);
    free(by_angle);
    free(touched);
}
