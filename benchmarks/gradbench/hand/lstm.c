/* A character LSTM with diagonal weights. x: main parameters (2 l rows of 4 b: weights, then biases of each layer), extra ones (3 b);
   data: states (2 l rows of b: hidden, then cell of each layer), sequence (c rows of b); size: l, c, b.
   value: the loss. gradient: with respect to x. */
#include "problem.h"

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

struct cell { /* what one number of one layer went through at one time */
    double input, hidden, before, forget, in, out, change, after;
};

/* Run over the text; keep every cell and every output if there is room for them. */
static double loss(const struct problem *given, struct cell *cells, double *outputs) {
    long l = given->size[0], c = given->size[1], b = given->size[2];
    const double *extra = given->x + 8 * l * b, *sequence = given->data + 2 * l * b;
    double *state = malloc((size_t)((2 * l + 2) * b) * sizeof *state), *x = state + 2 * l * b, *y = x + b, total = 0.0;
    memcpy(state, given->data, (size_t)(2 * l * b) * sizeof *state);
    for (long t = 0; t + 1 < c; t++) {
        for (long i = 0; i < b; i++)
            x[i] = sequence[t * b + i] * extra[i];
        for (long layer = 0; layer < l; layer++) {
            const double *w = given->x + 8 * b * layer, *bias = w + 4 * b;
            double *hidden = state + 2 * b * layer, *cell = hidden + b;
            for (long i = 0; i < b; i++) {
                struct cell at = {.input = x[i], .hidden = hidden[i], .before = cell[i]};
                at.forget = sigmoid(at.input * w[i] + bias[i]);
                at.in = sigmoid(at.hidden * w[b + i] + bias[b + i]);
                at.out = sigmoid(at.input * w[2 * b + i] + bias[2 * b + i]);
                at.change = tanh(at.hidden * w[3 * b + i] + bias[3 * b + i]);
                cell[i] = at.before * at.forget + at.in * at.change;
                at.after = tanh(cell[i]);
                x[i] = hidden[i] = at.out * at.after;
                if (cells)
                    cells[(t * l + layer) * b + i] = at;
            }
        }
        double sum = 2.0;
        for (long i = 0; i < b; i++) {
            y[i] = x[i] * extra[b + i] + extra[2 * b + i];
            sum += exp(y[i]);
        }
        double normalizer = log(sum);
        for (long i = 0; i < b; i++)
            total += sequence[(t + 1) * b + i] * (y[i] - normalizer);
        if (outputs)
            for (long i = 0; i < b; i++) { /* the last hidden state, and the share of each output in the sum */
                outputs[(t * 2) * b + i] = x[i];
                outputs[(t * 2 + 1) * b + i] = exp(y[i]) / sum;
            }
    }
    free(state);
    return -total / (double)((c - 1) * b);
}

void value(const struct problem *given, double *out) { out[0] = loss(given, NULL, NULL); }

void gradient(const struct problem *given, double *out) {
    long l = given->size[0], c = given->size[1], b = given->size[2];
    const double *extra = given->x + 8 * l * b, *sequence = given->data + 2 * l * b;
    struct cell *cells = malloc((size_t)((c - 1) * l * b) * sizeof *cells);
    double *outputs = malloc((size_t)(2 * (c - 1) * b) * sizeof *outputs);
    double *of_state = calloc((size_t)((2 * l + 1) * b), sizeof *of_state), *of_x = of_state + 2 * l * b;
    double *of_extra = out + 8 * l * b, scale = -1.0 / (double)((c - 1) * b);
    loss(given, cells, outputs);
    memset(out, 0, (size_t)((8 * l + 3) * b) * sizeof *out);
    for (long t = c - 2; t >= 0; t--) {
        const double *wanted = sequence + (t + 1) * b, *last = outputs + 2 * t * b, *share = last + b;
        double sum = 0.0;
        for (long i = 0; i < b; i++)
            sum += wanted[i];
        for (long i = 0; i < b; i++) {
            double of_y = scale * (wanted[i] - sum * share[i]);
            of_extra[b + i] += of_y * last[i];
            of_extra[2 * b + i] += of_y;
            of_x[i] = of_y * extra[b + i];
        }
        for (long layer = l - 1; layer >= 0; layer--) {
            const double *w = given->x + 8 * b * layer;
            double *of_w = out + 8 * b * layer, *of_bias = of_w + 4 * b;
            double *of_hidden = of_state + 2 * b * layer, *of_cell = of_hidden + b;
            for (long i = 0; i < b; i++) {
                const struct cell *at = cells + (t * l + layer) * b + i;
                double of_h = of_x[i] + of_hidden[i], of_c = of_cell[i] + of_h * at->out * (1.0 - at->after * at->after);
                double of_forget = of_c * at->before * at->forget * (1.0 - at->forget);
                double of_in = of_c * at->change * at->in * (1.0 - at->in);
                double of_out = of_h * at->after * at->out * (1.0 - at->out);
                double of_change = of_c * at->in * (1.0 - at->change * at->change);
                of_w[i] += of_forget * at->input;
                of_w[b + i] += of_in * at->hidden;
                of_w[2 * b + i] += of_out * at->input;
                of_w[3 * b + i] += of_change * at->hidden;
                of_bias[i] += of_forget;
                of_bias[b + i] += of_in;
                of_bias[2 * b + i] += of_out;
                of_bias[3 * b + i] += of_change;
                of_cell[i] = of_c * at->forget;
                of_hidden[i] = of_in * w[b + i] + of_change * w[3 * b + i];
                of_x[i] = of_forget * w[i] + of_out * w[2 * b + i];
            }
        }
        for (long i = 0; i < b; i++)
            of_extra[i] += of_x[i] * sequence[t * b + i];
    }
    free(cells);
    free(outputs);
    free(of_state);
}
