// Parameters that decide elsewhere (formats.md, `deployed`): what they give a row, and by how much the arithmetic of
// whoever runs them may differ from that.
import { dot } from './algebra.ts';
import type { Layer, Model } from './model.ts';

export interface Deployed {
  head: number[];
  excess: number;
  unit: number; // roundoff of the program
  threshold: number;
  margin: number;
  offsets: number[];
  constant: number;
  sizes: number[] | null; // of two outputs, each rounded by itself: of both together, for each entry of head
}

const OURS = 2 ** -53;

/** What rounding takes from a sum of so many products, as a share of their sizes: there, and here. */
function lost(terms: number, unit: number): number {
  const there = (2 * terms + 8) * unit, here = (4 * terms + 32) * OURS;
  return there / (1 - there) + here / (1 - here);
}

export interface Decided {
  logit: number;
  rounding: number; // at most
}

function act(layer: Layer, sum: number): number {
  if (layer.activation === 'relu') return Math.max(sum, 0);
  if (layer.activation === 'tanh') return Math.tanh(sum);
  return layer.activation === 'sigmoid' ? 1 / (1 + Math.exp(-sum)) : sum;
}

export function decide(model: Model, deployed: Deployed, encoded: number[]): Decided {
  const head: Layer = { weights: [deployed.head.slice(0, -1)], bias: [deployed.head.at(-1)!], activation: 'identity' };
  let values = encoded;
  // Sizes of the terms in the program's own units, and errors of the values.
  let sizes = encoded.map((z, j) => (Math.abs(model.mean[j]! + model.scale[j]! * z) + deployed.offsets[j]!) / model.scale[j]!);
  let errors = encoded.map(() => 0);
  [...model.hidden, head].forEach((layer, l) => {
    const isCurved = layer.activation === 'tanh' || layer.activation === 'sigmoid';
    const next = layer.weights.map((row, k) => {
      const bias = layer.bias[k]!, weights = row.map(Math.abs);
      const rounded = layer === head && deployed.sizes !== null ? deployed.sizes : [...weights, Math.abs(bias)];
      const size = 8 + (l === 0 ? deployed.constant : rounded.at(-1)!) + weights.reduce((sum, _, i) => sum + rounded[i]! * (sizes[i]! + errors[i]!), 0);
      const error = weights.reduce((sum, w, i) => sum + w * errors[i]!, lost(row.length, deployed.unit) * size);
      return { value: act(layer, dot(row, values, bias)), error: error + (isCurved ? 16 * deployed.unit : 0) };
    });
    values = next.map(({ value }) => value);
    errors = next.map(({ error }) => error);
    sizes = values.map(Math.abs);
  });
  return { logit: values[0]!, rounding: errors[0]! };
}
