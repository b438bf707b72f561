// A model file, as docs/reference/formats.md describes it.
import { canonical, keys, member, parse, toValue, type Node } from './json.ts';
import { sha256 } from './sha256.ts';
import { Cholesky, type Matrix } from './algebra.ts';
import { binCount, gridOf, type Bins } from './bins.ts';
import type { Deployed } from './deployed.ts';

export type Kind = 'numeric' | 'integer' | 'binned' | 'ordinal' | 'binary' | 'categorical';
export type Value = number | string;
export type Row = Record<string, Value>;

export interface Feature {
  name: string;
  kind: Kind;
  levels: string[]; // of numbers: none
  levelTexts: string[];
  min?: number;
  max?: number;
  step?: number;
  grid?: number; // of answers: the step, or what stands for it
  bins: Bins | null;
  allowed?: Value[];
  direction: 'increase' | 'decrease' | 'any';
  immutable: boolean; // or protected
  isProtected: boolean;
  slow?: string;
  weight: number;
  unit: string;
  label: string;
  description: string;
  column: number; // the first of its columns in model space
  columns: number;
  low: number; // of the training rows, in original units
  high: number;
  centre: number;
  spread: number;
}

export interface Layer {
  weights: number[][];
  bias: number[];
  activation: 'relu' | 'tanh' | 'sigmoid' | 'identity';
}

export interface Model {
  sha256: string;
  features: Feature[];
  rules: string[];
  target: { column: string; favourable: string };
  columns: string[];
  mean: number[];
  scale: number[];
  min: number[];
  max: number[];
  kind: 'logistic' | 'mlp' | 'softmax' | 'nam';
  hidden: Layer[];
  head: Layer;
  classes: string[];
  threshold: number;
  lossKind: 'logistic' | 'squared' | 'softmax';
  l2: number;
  penalizeBias: boolean;
  penaltyFactors: number[] | null;
  objective: number;
  rows: number;
  hessian: Matrix;
  shift: number; // of its diagonal, beyond the objective
  headDecrement: number; // of the objective above its minimum
  hasL1: boolean; // then it has no ellipsoid
  recommended: Record<string, unknown> | null;
  /** What of this model is not known here, so that nothing about it is judged; otherwise null. */
  beyond: string | null;
  /** What decides elsewhere, where that is not `head`. */
  deployed: Deployed | null;
  tree: Node;
}

type Json = Record<string, any>;

export const isNumber = (kind: Kind): boolean => kind === 'numeric' || kind === 'integer' || kind === 'binned';
export const isCategory = (kind: Kind): boolean => kind === 'categorical';

function levelsOf(name: string, spec: Json, oneHot: Json): [string, string][] {
  if (oneHot[name]) return (oneHot[name] as string[]).map((column) => [column, column]);
  if (isNumber(spec.kind)) return [];
  if (spec.levels === undefined) return spec.kind === 'binary' ? [['0', '0'], ['1', '1']] : [];
  return (spec.levels as unknown[]).flatMap((level): [string, string][] =>
    level !== null && typeof level === 'object'
      ? Object.entries(level as Json).map(([value, text]) => [value, String(text)])
      : [[String(level), String(level)]],
  );
}

/** How many columns of model space a feature has. */
function columnsOf(spec: Json, levels: number, bins: Bins | null): number {
  if (bins !== null) return bins.values === null ? binCount(bins) : 1;
  return isCategory(spec.kind) ? levels : 1;
}

/** `node` is the feature as it was written: codes are bins in that order. */
function binsOf(spec: Json, node: Node): Bins | null {
  if (spec.kind !== 'binned') return null;
  const codes = keys(member(node, 'special')).map((code) => ({ number: Number(code), text: String(spec.special[code]) }));
  const edges = spec.edges as number[];
  need(edges.every((edge, i) => Number.isFinite(edge) && (i === 0 || edge > edges[i - 1]!)), 'edges of bins must increase');
  need(codes.every((code) => Number.isFinite(code.number)), 'codes of bins must be numbers');
  const bins: Bins = {
    edges, closedRight: spec.closed !== 'left', codes, values: spec.values ?? null,
    ends: [spec.lowest, spec.above, spec.highest, spec.below].filter((end) => typeof end === 'number'),
    reaches: (value) =>
      value >= (spec.lowest ?? -Infinity) && value <= (spec.highest ?? Infinity) &&
      value > (spec.above ?? -Infinity) && value < (spec.below ?? Infinity),
  };
  need(bins.values === null || bins.values.length === binCount(bins), `there must be ${binCount(bins)} values of bins`);
  return bins;
}

const gridStep = (spec: Json): number | undefined => {
  if (spec.step !== undefined) return spec.step as number;
  if (spec.kind === 'integer') return 1;
  return spec.kind === 'binned' ? gridOf(spec.edges as number[]) : undefined;
};

function featureOf(name: string, spec: Json, node: Node, oneHot: Json, column: number, encoder: Json): Feature {
  const levels = levelsOf(name, spec, oneHot);
  const bins = binsOf(spec, node);
  const binned = spec.kind === 'binned' ? (encoder.binned?.[name] as Json | undefined) : undefined;
  const of = (key: string): number => (typeof binned?.[key] === 'number' ? binned[key] : encoder[key]?.[column]);
  return {
    name,
    kind: spec.kind,
    levels: levels.map(([value]) => value),
    levelTexts: levels.map(([, text]) => text),
    min: spec.min,
    max: spec.max,
    step: spec.step,
    grid: gridStep(spec),
    bins,
    allowed: spec.allowed,
    direction: spec.direction ?? 'any',
    immutable: spec.immutable === true || spec.protected === true,
    isProtected: spec.protected === true,
    slow: spec.slow,
    weight: spec.weight ?? 1,
    unit: spec.unit ?? '',
    label: spec.label ?? name.replaceAll('_', ' '),
    description: spec.description ?? '',
    column,
    columns: columnsOf(spec, levels.length, bins),
    low: of('min'),
    high: of('max'),
    centre: of('mean'),
    spread: of('scale'),
  };
}

function need(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

function readFeatures(tree: Node, schema: Json, encoder: Json): Feature[] {
  const written = member(member(tree, 'schema')!, 'features')!;
  const names = keys(written);
  const oneHot = (schema.one_hot ?? Object.create(null)) as Json;
  for (const group of Object.keys(oneHot)) need(names.includes(group), `schema.features has no ${group}`);
  const features: Feature[] = [];
  let column = 0;
  for (const name of names) {
    const feature = featureOf(name, schema.features[name], member(written, name)!, oneHot, column, encoder);
    features.push(feature);
    column += feature.columns;
  }
  return features;
}

function checkShapes(model: Model): void {
  const d = model.columns.length;
  const last = model.features.at(-1);
  const used = last === undefined ? 0 : last.column + last.columns;
  need(used === d, `encoder.columns has ${d} columns, the schema makes ${used}`);
  for (const list of [model.mean, model.scale, model.min, model.max])
    need(list.length === d && list.every(Number.isFinite), `the encoder needs ${d} numbers of each kind`);
  need(model.scale.every((s) => s > 0), 'encoder.scale must be > 0');
  let width = d;
  for (const layer of [...model.hidden, model.head]) {
    need(layer.weights.every((row) => row.length === width), `a layer has not ${width} inputs`);
    need(layer.weights.length === layer.bias.length, 'a layer has another number of biases than of outputs');
    width = layer.bias.length;
  }
  const size = model.head.bias.length * ((model.hidden.at(-1)?.bias.length ?? d) + 1);
  need(model.hessian.length === size && model.hessian.every((row) => row.length === size),
    `curvature.hessian must have ${size} rows and columns`);
  need(model.hessian.every((row, i) => row.every((value, j) => value === model.hessian[j]![i])), 'curvature.hessian is not symmetric');
}

const KINDS = ['numeric', 'integer', 'ordinal', 'binary', 'categorical', 'binned'];

function beyondUs(file: Json): string | null {
  const kinds = Object.values(file.schema.features as Record<string, Json>).map((feature) => feature.kind as string);
  return kinds.every((kind) => KINDS.includes(kind)) ? null : 'kinds of features that are newer than this page';
}

function readDeployed(file: Json): Deployed | null {
  if (file.deployed === undefined) return null;
  const { head, excess, precision, threshold, margin, offsets, constant, sizes = null } = file.deployed;
  need(precision === 'float32' || precision === 'float64', 'deployed.precision must be float32 or float64');
  const last = (file.network.layers as Layer[]).at(-1)!;
  need(last.bias.length === 1 && head.length === last.weights[0]!.length + 1, 'deployed.head has another length than the head');
  need(offsets.length === file.encoder.columns.length, 'deployed.offsets needs a number for each column');
  need(sizes === null || sizes.length === head.length, 'deployed.sizes has another length than the head');
  need([...head, ...offsets, ...(sizes ?? []), excess, threshold, margin, constant].every(Number.isFinite) && margin >= 0 && excess >= 0,
    'deployed needs finite numbers');
  need(file.decision.threshold - threshold >= margin, 'decision.threshold is not above that of `deployed` by its margin');
  return { head, excess, unit: precision === 'float32' ? 2 ** -24 : 2 ** -53, threshold, margin, offsets, constant, sizes };
}

export function readModel(text: string): Model {
  const tree = parse(text);
  const file = toValue(tree) as Json;
  need(file !== null && file.format === 'ellice.model', 'this is no model file ("format" is not "ellice.model")');
  need(file.version === 1 || file.version === 2, `version ${file.version} of model files is not known here`);
  const { schema, encoder, network, decision, training, curvature } = file;
  const layers = network.layers as Layer[];
  const model: Model = {
    sha256: sha256(canonical(tree, ['recommended', 'rows'])),
    features: readFeatures(tree, schema, encoder),
    rules: schema.constraints ?? [],
    target: { column: schema.target.column, favourable: String(schema.target.favourable) },
    columns: encoder.columns,
    mean: encoder.mean,
    scale: encoder.scale,
    min: encoder.min,
    max: encoder.max,
    kind: network.kind,
    hidden: layers.slice(0, -1),
    head: layers.at(-1)!,
    classes: decision.classes,
    threshold: decision.threshold,
    lossKind: training.loss_kind,
    l2: training.l2,
    penalizeBias: training.penalize_bias !== false,
    penaltyFactors: training.penalty_factors ?? null,
    objective: training.objective,
    rows: training.rows,
    hessian: (curvature.hessian as number[][]).map((row) => Float64Array.from(row)),
    shift: curvature.shift ?? 0,
    headDecrement: training.head_decrement ?? 0,
    hasL1: training.l1 !== undefined,
    recommended: file.recommended ?? null,
    beyond: beyondUs(file),
    deployed: readDeployed(file),
    tree,
  };
  checkShapes(model);
  return model;
}

/** [w; b], class by class. */
export function headParameters(model: Model): number[] {
  return model.head.weights.flatMap((row, k) => [...row, model.head.bias[k]!]);
}

/** H as it is factored: with another damping in place of the model's own l2, and of several classes with the term
 * that fixes what all of them have in common. */
export function metric(model: Model, damping: number | null): Cholesky {
  const outputs = model.head.bias.length, width = model.hessian.length / outputs;
  const matrix = model.hessian.map((row) => Float64Array.from(row));
  const added = damping === null ? 0 : damping - model.l2;
  for (let i = 0; i < matrix.length; i++) {
    const j = i % width, isBias = j === width - 1;
    if (isBias && !model.penalizeBias) continue;
    matrix[i]![i]! += added * (isBias ? 1 : (model.penaltyFactors?.[j] ?? 1));
  }
  if (outputs > 1) {
    for (let a = 0; a < outputs; a++)
      for (let b = 0; b < outputs; b++)
        for (let j = 0; j < width; j++) matrix[a * width + j]![b * width + j]! += 1 / outputs;
  }
  const factor = Cholesky.of(matrix);
  if (factor === null) throw new Error('the curvature of this model is not positive definite');
  return factor;
}
