/* Lotka-Volterra by RK4 over `steps` steps, (x - 1)² + (y - 2)² at the end, and its gradient by the four rates and the two
   starting numbers, by hand: the states of all stages are stored, then swept in reverse. */
#include "clock.h"
#include <stdlib.h>

typedef struct {
    double x[4], y[4];
} Stages;

double lotka(const double *in, int steps, double h, double *grads, Stages *kept, int want) {
    double a = in[0], b = in[1], c = in[2], d = in[3], x = in[4], y = in[5];
    static const double at[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    for (int n = 0; n < steps; n++) {
        double kx = 0.0, ky = 0.0, sx = 0.0, sy = 0.0;
        for (int s = 0; s < 4; s++) {
            double xs = x + at[s] * h * kx, ys = y + at[s] * h * ky;
            kept[n].x[s] = xs, kept[n].y[s] = ys;
            kx = xs * (a - b * ys), ky = ys * (d * xs - c);
            sx += weight[s] * kx, sy += weight[s] * ky;
        }
        x += h * sx, y += h * sy;
    }
    double loss = (x - 1.0) * (x - 1.0) + (y - 2.0) * (y - 2.0);
    if (!want) return loss;
    double dx = 2.0 * (x - 1.0), dy = 2.0 * (y - 2.0), da = 0.0, db = 0.0, dc = 0.0, dd = 0.0;
    for (int n = steps - 1; n >= 0; n--) {
        double gx = 0.0, gy = 0.0, nx = dx, ny = dy; /* gx, gy: what the later stage asks of this one's slope */
        for (int s = 3; s >= 0; s--) {
            double xs = kept[n].x[s], ys = kept[n].y[s];
            double dkx = weight[s] * h * dx + gx, dky = weight[s] * h * dy + gy;
            da += dkx * xs, db -= dkx * xs * ys, dc -= dky * ys, dd += dky * xs * ys;
            double dxs = dkx * (a - b * ys) + dky * d * ys, dys = dky * (d * xs - c) - dkx * b * xs;
            nx += dxs, ny += dys;
            gx = at[s] * h * dxs, gy = at[s] * h * dys;
        }
        dx = nx, dy = ny;
    }
    grads[0] = da, grads[1] = db, grads[2] = dc, grads[3] = dd, grads[4] = dx, grads[5] = dy;
    return loss;
}

double time_lotka(const double *in, int steps, double h, double *out, int want, int reps) {
    Stages *kept = malloc(sizeof(Stages) * (size_t)steps);
    double start = now();
    for (int rep = 0; rep < reps; rep++) out[0] = lotka(in, steps, h, out + 1, kept, want);
    double took = (now() - start) / reps;
    free(kept);
    return took;
}
