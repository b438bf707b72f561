// H = LLᵀ in double precision, and solves whose residuals are summed in twice that precision: the error of
// H⁻¹x then does not grow with the condition number of H.

export type Vector = Float64Array;
export type Matrix = Vector[];

/** a·b as a sum of two doubles without error (Dekker). */
function product(a: number, b: number): [number, number] {
  const split = 134217729; // 2²⁷ + 1
  const ca = split * a, ah = ca - (ca - a), al = a - ah;
  const cb = split * b, bh = cb - (cb - b), bl = b - bh;
  const high = a * b;
  return [high, al * bl - (high - ah * bh - al * bh - ah * bl)];
}

/** c + Σ aᵢbᵢ as if computed in twice double precision. */
export function dot(a: ArrayLike<number>, b: ArrayLike<number>, c = 0): number {
  let sum = c, rest = 0;
  for (let i = 0; i < a.length; i++) {
    const [high, low] = product(a[i]!, b[i]!);
    const total = sum + high;
    const part = total - sum;
    rest += sum - (total - part) + (high - part) + low;
    sum = total;
  }
  return sum + rest;
}

export class Cholesky {
  private constructor(private readonly matrix: Matrix, private readonly factor: Matrix) {}

  /** Nothing where the matrix is not positive definite. */
  static of(matrix: Matrix): Cholesky | null {
    const factor: Matrix = [];
    for (let i = 0; i < matrix.length; i++) {
      const row = new Float64Array(i + 1);
      for (let j = 0; j <= i; j++) {
        let sum = matrix[i]![j]!;
        const other = j === i ? row : factor[j]!;
        for (let k = 0; k < j; k++) sum -= row[k]! * other[k]!;
        if (j < i) row[j] = sum / other[j]!;
        else if (sum > 0) row[i] = Math.sqrt(sum);
        else return null;
      }
      factor.push(row);
    }
    return new Cholesky(matrix, factor);
  }

  private rough(b: ArrayLike<number>): Vector {
    const n = this.factor.length, x = Float64Array.from(b);
    for (let i = 0; i < n; i++) {
      const row = this.factor[i]!;
      for (let k = 0; k < i; k++) x[i]! -= row[k]! * x[k]!;
      x[i]! /= row[i]!;
    }
    for (let i = n - 1; i >= 0; i--) {
      x[i]! /= this.factor[i]![i]!;
      for (let k = 0; k < i; k++) x[k]! -= this.factor[i]![k]! * x[i]!;
    }
    return x;
  }

  /** H⁻¹b. */
  solve(b: ArrayLike<number>): Vector {
    const x = this.rough(b);
    for (let step = 0; step < 3; step++) {
      const residual = this.matrix.map((row, i) => -dot(row, x, -b[i]!));
      const correction = this.rough(residual);
      for (let i = 0; i < x.length; i++) x[i]! += correction[i]!;
    }
    return x;
  }

  /** H⁻¹b without corrections, for pictures that move. */
  solveQuickly(b: ArrayLike<number>): Vector {
    return this.rough(b);
  }
}
