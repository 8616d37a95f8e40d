/* Bundle adjustment. x: n cameras of 11 numbers (rotation, centre, focal length, principal point, distortion), m points, p weights;
   data: p features; index: p pairs of a camera and a point; size: n, m, p.
   value: 2 errors of each observation, then 1 of each weight.
   gradient: the values of the sparse matrix, 15 in each of 2 p rows, then 1 in each of p; structure: 3 p + 1 row starts, columns. */
#include "problem.h"

#define CAMERA 11
#define COLUMNS 15

struct view { /* what a camera sees of a point, and the numbers on the way */
    double from[3], turned[3], axis[3], cosine, sine, along, angle;
    double u, v, squared, distortion, seen[2];
};

static void cross(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void look(const double *camera, const double *point, struct view *at) {
    double about[3];
    for (int i = 0; i < 3; i++)
        at->from[i] = point[i] - camera[3 + i];
    double squared = dot(camera, camera);
    at->angle = sqrt(squared);
    if (squared != 0.0) {
        at->cosine = cos(at->angle);
        at->sine = sin(at->angle);
        for (int i = 0; i < 3; i++)
            at->axis[i] = camera[i] / at->angle;
        cross(at->axis, at->from, about);
        at->along = dot(at->axis, at->from);
        for (int i = 0; i < 3; i++)
            at->turned[i] = at->from[i] * at->cosine + about[i] * at->sine + at->axis[i] * at->along * (1.0 - at->cosine);
    } else {
        cross(camera, at->from, about);
        for (int i = 0; i < 3; i++)
            at->turned[i] = at->from[i] + about[i];
    }
    at->u = at->turned[0] / at->turned[2];
    at->v = at->turned[1] / at->turned[2];
    at->squared = at->u * at->u + at->v * at->v;
    at->distortion = 1.0 + camera[9] * at->squared + camera[10] * at->squared * at->squared;
    at->seen[0] = at->u * at->distortion * camera[6] + camera[7];
    at->seen[1] = at->v * at->distortion * camera[6] + camera[8];
}

void value(const struct problem *given, double *out) {
    long n = given->size[0], m = given->size[1], p = given->size[2];
    const double *points = given->x + CAMERA * n, *weights = points + 3 * m, *features = given->data;
    struct view at;
    for (long i = 0; i < p; i++) {
        look(given->x + CAMERA * given->index[2 * i], points + 3 * given->index[2 * i + 1], &at);
        out[2 * i] = weights[i] * (at.seen[0] - features[2 * i]);
        out[2 * i + 1] = weights[i] * (at.seen[1] - features[2 * i + 1]);
    }
    for (long i = 0; i < p; i++)
        out[2 * p + i] = 1.0 - weights[i] * weights[i];
}

/* How the turned point moves with the rotation (by_rotation[k]: with its k-th number), and with the point. */
static void turn_slopes(const double *camera, const struct view *at, double by_rotation[3][3], double by_point[3][3]) {
    const double *from = at->from, *axis = at->axis;
    double about[3], c = at->cosine, s = at->sine;
    cross(axis, from, about);
    for (int k = 0; k < 3; k++) {
        double unit[3] = {k == 0, k == 1, k == 2}, part[3];
        if (at->angle == 0.0) {
            cross(unit, from, by_rotation[k]);
            cross(camera, unit, by_point[k]);
            by_point[k][k] += 1.0;
            continue;
        }
        double moved[3], turned[3]; /* the axis moves with the k-th number */
        for (int i = 0; i < 3; i++)
            moved[i] = (unit[i] - axis[i] * axis[k]) / at->angle;
        cross(moved, from, turned);
        double along = dot(moved, from);
        cross(axis, unit, part);
        for (int i = 0; i < 3; i++) {
            by_rotation[k][i] = axis[k] * (about[i] * c - from[i] * s + axis[i] * at->along * s) + turned[i] * s +
                                (moved[i] * at->along + axis[i] * along) * (1.0 - c);
            by_point[k][i] = unit[i] * c + part[i] * s + axis[i] * axis[k] * (1.0 - c);
        }
    }
}

/* Two rows of 15: with respect to the camera, the point and the weight. */
static void block(const double *camera, const double *point, double weight, const double *feature, double *out) {
    struct view at;
    double by_rotation[3][3], by_point[3][3];
    look(camera, point, &at);
    turn_slopes(camera, &at, by_rotation, by_point);
    double focal = camera[6], grows = camera[9] + 2.0 * camera[10] * at.squared; /* the distortion, with u² + v² */
    double place[2] = {at.u, at.v}, inverse = 1.0 / at.turned[2];
    for (int row = 0; row < 2; row++, out += COLUMNS) {
        double own = place[row], along_u = 2.0 * own * at.u * grows, along_v = 2.0 * own * at.v * grows;
        along_u = weight * focal * (along_u + (row == 0 ? at.distortion : 0.0));
        along_v = weight * focal * (along_v + (row == 1 ? at.distortion : 0.0));
        double slope[3] = {along_u * inverse, along_v * inverse, -(along_u * at.u + along_v * at.v) * inverse};
        for (int k = 0; k < 3; k++) {
            out[k] = dot(slope, by_rotation[k]);
            out[CAMERA + k] = dot(slope, by_point[k]);
            out[3 + k] = -out[CAMERA + k];
        }
        out[6] = weight * own * at.distortion;
        out[7] = row == 0 ? weight : 0.0;
        out[8] = row == 1 ? weight : 0.0;
        out[9] = weight * focal * own * at.squared;
        out[10] = out[9] * at.squared;
        out[14] = at.seen[row] - feature[row];
    }
}

void gradient(const struct problem *given, double *out) {
    long n = given->size[0], m = given->size[1], p = given->size[2];
    const double *points = given->x + CAMERA * n, *weights = points + 3 * m;
    int *rows = given->structure, *columns = rows + 3 * p + 1;
    for (long i = 0; i < p; i++) {
        int camera = given->index[2 * i], point = given->index[2 * i + 1];
        block(given->x + CAMERA * camera, points + 3 * point, weights[i], given->data + 2 * i, out + 2 * COLUMNS * i);
        for (int row = 0; row < 2; row++, columns += COLUMNS) {
            *rows++ = (int)(COLUMNS * (2 * i + row));
            for (int k = 0; k < CAMERA; k++)
                columns[k] = CAMERA * camera + k;
            for (int k = 0; k < 3; k++)
                columns[CAMERA + k] = (int)(CAMERA * n + 3 * point + k);
            columns[COLUMNS - 1] = (int)(CAMERA * n + 3 * m + i);
        }
    }
    for (long i = 0; i < p; i++) {
        *rows++ = (int)(2 * COLUMNS * p + i);
        *columns++ = (int)(CAMERA * n + 3 * m + i);
        out[2 * COLUMNS * p + i] = -2.0 * weights[i];
    }
    *rows = (int)((2 * COLUMNS + 1) * p);
}
