// Made by tools/gen_optim_js.py from optim/rules.py: change the rules there and run it again.

/**
 * A rule moves the parameters p by their gradients g; `kept` holds what it keeps for each parameter, c the constants
 * of the step.
 * @typedef {{kept: number, move: (p: Float64Array, g: Float64Array, kept: Float64Array[], c: any) => void}} Rule
 */

/** @type {Record<string, Rule>} */
export const RULES = {
  sgd_none_false_false: {
    kept: 0,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.lr * t0;
        const t2 = p[i] - t1;
        p[i] = t2;
      }
    },
  },
  sgd_none_false_true: {
    kept: 0,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.lr * t0;
        const t2 = p[i] - t1;
        p[i] = t2;
      }
    },
  },
  sgd_none_true_false: {
    kept: 1,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.momentum * kept[0][i];
        const t2 = c.fresh * t0;
        const t3 = t1 + t2;
        const t4 = c.lr * t3;
        const t5 = p[i] - t4;
        p[i] = t5;
        kept[0][i] = t3;
      }
    },
  },
  sgd_none_true_true: {
    kept: 1,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.momentum * kept[0][i];
        const t2 = c.fresh * t0;
        const t3 = t1 + t2;
        const t4 = c.momentum * t3;
        const t5 = t0 + t4;
        const t6 = c.lr * t5;
        const t7 = p[i] - t6;
        p[i] = t7;
        kept[0][i] = t3;
      }
    },
  },
  sgd_coupled_false_false: {
    kept: 0,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.weight_decay * p[i];
        const t2 = t0 + t1;
        const t3 = c.lr * t2;
        const t4 = p[i] - t3;
        p[i] = t4;
      }
    },
  },
  sgd_coupled_false_true: {
    kept: 0,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.weight_decay * p[i];
        const t2 = t0 + t1;
        const t3 = c.lr * t2;
        const t4 = p[i] - t3;
        p[i] = t4;
      }
    },
  },
  sgd_coupled_true_false: {
    kept: 1,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.weight_decay * p[i];
        const t2 = t0 + t1;
        const t3 = c.momentum * kept[0][i];
        const t4 = c.fresh * t2;
        const t5 = t3 + t4;
        const t6 = c.lr * t5;
        const t7 = p[i] - t6;
        p[i] = t7;
        kept[0][i] = t5;
      }
    },
  },
  sgd_coupled_true_true: {
    kept: 1,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.weight_decay * p[i];
        const t2 = t0 + t1;
        const t3 = c.momentum * kept[0][i];
        const t4 = c.fresh * t2;
        const t5 = t3 + t4;
        const t6 = c.momentum * t5;
        const t7 = t2 + t6;
        const t8 = c.lr * t7;
        const t9 = p[i] - t8;
        p[i] = t9;
        kept[0][i] = t5;
      }
    },
  },
  adam_none_false: {
    kept: 2,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.beta1 * kept[0][i];
        const t2 = c.new1 * t0;
        const t3 = t1 + t2;
        const t4 = c.beta2 * kept[1][i];
        const t5 = c.new2 * t0;
        const t6 = t5 * t0;
        const t7 = t4 + t6;
        const t8 = c.size * t3;
        const t9 = Math.sqrt(t7);
        const t10 = t9 * c.lift;
        const t11 = t10 + c.eps;
        const t12 = t8 / t11;
        const t13 = p[i] - t12;
        p[i] = t13;
        kept[0][i] = t3;
        kept[1][i] = t7;
      }
    },
  },
  adam_none_true: {
    kept: 3,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.beta1 * kept[0][i];
        const t2 = c.new1 * t0;
        const t3 = t1 + t2;
        const t4 = c.beta2 * kept[1][i];
        const t5 = c.new2 * t0;
        const t6 = t5 * t0;
        const t7 = t4 + t6;
        const t8 = t7 > kept[2][i] ? t7 : kept[2][i];
        const t9 = c.size * t3;
        const t10 = Math.sqrt(t8);
        const t11 = t10 * c.lift;
        const t12 = t11 + c.eps;
        const t13 = t9 / t12;
        const t14 = p[i] - t13;
        p[i] = t14;
        kept[0][i] = t3;
        kept[1][i] = t7;
        kept[2][i] = t8;
      }
    },
  },
  adam_coupled_false: {
    kept: 2,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.weight_decay * p[i];
        const t2 = t0 + t1;
        const t3 = c.beta1 * kept[0][i];
        const t4 = c.new1 * t2;
        const t5 = t3 + t4;
        const t6 = c.beta2 * kept[1][i];
        const t7 = c.new2 * t2;
        const t8 = t7 * t2;
        const t9 = t6 + t8;
        const t10 = c.size * t5;
        const t11 = Math.sqrt(t9);
        const t12 = t11 * c.lift;
        const t13 = t12 + c.eps;
        const t14 = t10 / t13;
        const t15 = p[i] - t14;
        p[i] = t15;
        kept[0][i] = t5;
        kept[1][i] = t9;
      }
    },
  },
  adam_coupled_true: {
    kept: 3,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = c.weight_decay * p[i];
        const t2 = t0 + t1;
        const t3 = c.beta1 * kept[0][i];
        const t4 = c.new1 * t2;
        const t5 = t3 + t4;
        const t6 = c.beta2 * kept[1][i];
        const t7 = c.new2 * t2;
        const t8 = t7 * t2;
        const t9 = t6 + t8;
        const t10 = t9 > kept[2][i] ? t9 : kept[2][i];
        const t11 = c.size * t5;
        const t12 = Math.sqrt(t10);
        const t13 = t12 * c.lift;
        const t14 = t13 + c.eps;
        const t15 = t11 / t14;
        const t16 = p[i] - t15;
        p[i] = t16;
        kept[0][i] = t5;
        kept[1][i] = t9;
        kept[2][i] = t10;
      }
    },
  },
  adam_decoupled_false: {
    kept: 2,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = p[i] * c.shrink;
        const t2 = c.beta1 * kept[0][i];
        const t3 = c.new1 * t0;
        const t4 = t2 + t3;
        const t5 = c.beta2 * kept[1][i];
        const t6 = c.new2 * t0;
        const t7 = t6 * t0;
        const t8 = t5 + t7;
        const t9 = c.size * t4;
        const t10 = Math.sqrt(t8);
        const t11 = t10 * c.lift;
        const t12 = t11 + c.eps;
        const t13 = t9 / t12;
        const t14 = t1 - t13;
        p[i] = t14;
        kept[0][i] = t4;
        kept[1][i] = t8;
      }
    },
  },
  adam_decoupled_true: {
    kept: 3,
    move(p, g, kept, c) {
      for (let i = 0; i < p.length; i++) {
        const t0 = c.turn * g[i];
        const t1 = p[i] * c.shrink;
        const t2 = c.beta1 * kept[0][i];
        const t3 = c.new1 * t0;
        const t4 = t2 + t3;
        const t5 = c.beta2 * kept[1][i];
        const t6 = c.new2 * t0;
        const t7 = t6 * t0;
        const t8 = t5 + t7;
        const t9 = t8 > kept[2][i] ? t8 : kept[2][i];
        const t10 = c.size * t4;
        const t11 = Math.sqrt(t9);
        const t12 = t11 * c.lift;
        const t13 = t12 + c.eps;
        const t14 = t10 / t13;
        const t15 = t1 - t14;
        p[i] = t15;
        kept[0][i] = t4;
        kept[1][i] = t8;
        kept[2][i] = t9;
      }
    },
  },
};
