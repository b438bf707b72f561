// The worst model of an ellipsoid for a row, in closed form (docs/theory.md, Theorem 1):
// min θᵀa over ½(θ−θ̂)ᵀH(θ−θ̂) ≤ ε is θ̂ᵀa − √(2ε·aᵀH⁻¹a), attained at θ̂ − √(2ε)·H⁻¹a/√(aᵀH⁻¹a).
import { dot, type Cholesky } from './algebra.ts';
import { headParameters, metric, type Model, type Row } from './model.ts';
import { encode, headInput } from './encoder.ts';

export interface Judgement {
  logit: number;
  robustLogit: number;
  penalty: number;
  size: number; // Σ|θᵢaᵢ|, to which rounding is relative
  worstModel: number[];
  radius: (threshold: number) => number;
}

/** The models whose training objective is, to second order, within ε of the best. */
export class Ellipsoid {
  readonly center: number[];
  private readonly metric: Cholesky;

  constructor(readonly model: Model, readonly epsilon: number, damping: number | null = null) {
    this.center = headParameters(model);
    this.metric = metric(model, damping);
  }

  /** Of the linear function aᵀθ. */
  judge(a: number[]): Judgement {
    const direction = this.metric.solve(a);
    const square = dot(a, direction);
    const norm = Math.sqrt(Math.max(square, 0));
    const logit = dot(this.center, a);
    const penalty = Math.sqrt(2 * this.epsilon) * norm;
    const stretch = norm > 0 ? Math.sqrt(2 * this.epsilon) / norm : 0;
    return {
      logit,
      penalty,
      robustLogit: logit - penalty,
      size: a.reduce((sum, x, i) => sum + Math.abs(x * this.center[i]!), 0),
      worstModel: this.center.map((value, i) => value - stretch * direction[i]!),
      radius: (threshold) => (logit > threshold ? (logit - threshold) ** 2 / (2 * square) : 0),
    };
  }

  judgeEncoded(encoded: number[]): Judgement {
    return this.judge(headInput(this.model, encoded));
  }

  judgeRow(row: Row): Judgement {
    return this.judgeEncoded(encode(this.model, row));
  }

  /** The lead of one class over another. */
  judgePair(encoded: number[], winner: number, rival: number): Judgement {
    const h = headInput(this.model, encoded);
    const a = new Array<number>(h.length * this.model.head.bias.length).fill(0);
    h.forEach((value, j) => {
      a[winner * h.length + j] = value;
      a[rival * h.length + j] = -value;
    });
    return this.judge(a);
  }
}

export interface Lead {
  target: number;
  logit: number; // the smallest lead of the base model
  robustLogit: number;
  radius: (threshold: number) => number;
  rivals: { rival: number; judgement: Judgement }[];
}

/** Of a model with many classes: how far a class is ahead of those that will not do. */
export function leadOf(set: Ellipsoid, encoded: number[], target: number, acceptable: number[]): Lead {
  const rivals = set.model.classes
    .map((_, k) => k)
    .filter((k) => k !== target && !acceptable.includes(k))
    .map((rival) => ({ rival, judgement: set.judgePair(encoded, target, rival) }));
  return {
    target,
    rivals,
    logit: Math.min(...rivals.map((r) => r.judgement.logit)),
    robustLogit: Math.min(...rivals.map((r) => r.judgement.robustLogit)),
    radius: (threshold) => Math.min(...rivals.map((r) => r.judgement.radius(threshold))),
  };
}
