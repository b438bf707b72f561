// From a row in original units to model space, and through the hidden layers.
import { reaches, seen } from './bins.ts';
import { isCategory, isNumber, type Feature, type Layer, type Model, type Row, type Value } from './model.ts';

/** A value as a number: itself, its position among the levels, or nothing where it is neither. */
export function position(feature: Feature, value: Value | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (isNumber(feature.kind)) {
    const isHad = typeof value === 'number' && Number.isFinite(value) && (feature.bins === null || reaches(feature.bins, value));
    return isHad ? value : null;
  }
  const at = feature.levels.indexOf(String(value));
  return at < 0 ? null : at;
}

export function encode(model: Model, row: Row): number[] {
  if (model.beyond !== null) throw new Error(`this page does not know ${model.beyond}`);
  const z: number[] = [];
  for (const feature of model.features) {
    const at = position(feature, row[feature.name]);
    if (at === null) throw new Error(`${feature.name}: ${JSON.stringify(row[feature.name])} is no value of this feature`);
    if (feature.bins !== null) {
      for (const value of seen(feature.bins, at)) z.push(scaled(model, z.length, value));
    } else if (isCategory(feature.kind)) {
      for (let level = 0; level < feature.levels.length; level++) z.push(scaled(model, z.length, level === at ? 1 : 0));
    } else {
      z.push(scaled(model, z.length, at));
    }
  }
  return z;
}

function scaled(model: Model, column: number, raw: number): number {
  return (raw - model.mean[column]!) / model.scale[column]!;
}

const activations = {
  relu: (x: number) => Math.max(x, 0),
  tanh: Math.tanh,
  sigmoid: (x: number) => 1 / (1 + Math.exp(-x)),
  identity: (x: number) => x,
};

function through(layer: Layer, x: number[]): number[] {
  const act = activations[layer.activation];
  return layer.weights.map((row, i) => act(row.reduce((sum, w, j) => sum + w * x[j]!, layer.bias[i]!)));
}

/** [h(x); 1]. */
export function headInput(model: Model, encoded: number[]): number[] {
  return [...model.hidden.reduce((x, layer) => through(layer, x), encoded), 1];
}
