// Bins of a number: all that the model sees of it (formats.md, kind `binned`).

export interface Bins {
  edges: number[];
  /** Whether an edge belongs to the interval below it. */
  closedRight: boolean;
  /** Codes that are bins of their own, after the intervals. */
  codes: { number: number; text: string }[];
  /** What the model sees of each bin; without them a 0/1 column for each. */
  values: number[] | null;
  /** Whether somebody may have a number, codes aside. */
  reaches: (value: number) => boolean;
  ends: number[];
}

export const binCount = (bins: Bins): number => bins.edges.length + 1 + bins.codes.length;

export const isCode = (bins: Bins, value: number): boolean => bins.codes.some((code) => code.number === value);

/** Whether anybody may have a number. */
export const reaches = (bins: Bins, value: number): boolean => isCode(bins, value) || bins.reaches(value);

/** The bin of a number. */
export function binOf(bins: Bins, value: number): number {
  const code = bins.codes.findIndex((one) => one.number === value);
  if (code >= 0) return bins.edges.length + 1 + code;
  const above = bins.edges.findIndex((edge) => (bins.closedRight ? value <= edge : value < edge));
  return above < 0 ? bins.edges.length : above;
}

/** What the model sees of a number, in its columns. */
export function seen(bins: Bins, value: number): number[] {
  const bin = binOf(bins, value);
  if (bins.values !== null) return [bins.values[bin]!];
  return Array.from({ length: binCount(bins) }, (_, k) => (k === bin ? 1 : 0));
}

/** The grid of answers where the schema has no step: whole numbers where all edges are, else a decimal place more than
 * the edges have. */
export function gridOf(edges: number[]): number {
  if (edges.every(Number.isInteger)) return 1;
  const decimals = edges.map((edge) => {
    const [digits, power] = String(edge).split('e');
    return Math.max(0, (digits!.split('.')[1]?.length ?? 0) - Number(power ?? 0));
  });
  return Number(`1e-${Math.max(...decimals) + 1}`);
}
