/* The determinant by minors, and its cofactors, by the plain recursion: equal minors are computed as often as they occur.
   x: the matrix by rows; size: ell. */
#include "problem.h"

/* `columns` has the m columns of the minor, and room for m (m - 1) / 2 more after them; `rows` its rows. */
static double minor(const double *a, long ell, const int *rows, int *columns, long m) {
    const double *row = a + rows[0] * ell;
    if (m == 1)
        return row[columns[0]];
    double total = 0.0, sign = 1.0;
    int *fewer = columns + m;
    for (long k = 1; k < m; k++)
        fewer[k - 1] = columns[k];
    for (long j = 0; j < m; j++) {
        total += sign * row[columns[j]] * minor(a, ell, rows + 1, fewer, m - 1);
        sign = -sign;
        if (j < m - 1)
            fewer[j] = columns[j]; /* column j comes back, and column j + 1 goes */
    }
    return total;
}

void value(const struct problem *given, double *out) {
    long ell = given->size[0];
    int *rows = malloc((size_t)(ell + ell * (ell + 1) / 2) * sizeof *rows), *columns = rows + ell;
    for (int k = 0; k < ell; k++)
        rows[k] = columns[k] = k;
    out[0] = minor(given->x, ell, rows, columns, ell);
    free(rows);
}

void gradient(const struct problem *given, double *out) {
    long ell = given->size[0];
    int *rows = malloc((size_t)(ell + ell * (ell + 1) / 2) * sizeof *rows), *columns = rows + ell;
    for (int i = 0; i < ell; i++)
        for (int j = 0; j < ell; j++) {
            for (int k = 0; k < ell - 1; k++) {
                rows[k] = k + (k >= i);
                columns[k] = k + (k >= j);
            }
            double cofactor = ell == 1 ? 1.0 : minor(given->x, ell, rows, columns, ell - 1);
            out[i * ell + j] = (i + j) % 2 ? -cofactor : cofactor;
        }
    free(rows);
}
