// SHA-256 (FIPS 180-4). The browser's own is not there on plain http pages.

const K = roundConstants();

/** The first 32 bits of the fractions of the cube roots of the first 64 primes. */
function roundConstants(): Uint32Array {
  const constants = new Uint32Array(64);
  for (let n = 2, count = 0; count < 64; n++) {
    if (isPrime(n)) constants[count++] = fraction(Math.cbrt(n));
  }
  return constants;
}

function isPrime(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) >>> 0;
}

function turn(x: number, by: number): number {
  return (x >>> by) | (x << (32 - by));
}

function padded(bytes: Uint8Array): DataView {
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const whole = new Uint8Array(64 * blocks);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer);
  view.setUint32(64 * blocks - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(64 * blocks - 4, (bytes.length << 3) >>> 0);
  return view;
}

function digestBlock(state: Uint32Array, view: DataView, at: number, w: Uint32Array): void {
  for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const a = w[i - 15]!, b = w[i - 2]!;
    const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
    const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
    w[i] = w[i - 16]! + s0 + w[i - 7]! + s1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const t1 = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i]! + w[i]!) | 0;
    const t2 = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] = state[i]! + value));
}

export function sha256(text: string): string {
  const view = padded(new TextEncoder().encode(text));
  const state = new Uint32Array([2, 3, 5, 7, 11, 13, 17, 19].map((p) => fraction(Math.sqrt(p))));
  const w = new Uint32Array(64);
  for (let at = 0; at < view.byteLength; at += 64) digestBlock(state, view, at, w);
  return [...state].map((word) => word.toString(16).padStart(8, '0')).join('');
}
