// What a counterfactual may be: the schema's constraints and those of a run.
import { binOf, isCode, reaches, type Bins } from './bins.ts';
import { position } from './encoder.ts';
import { isCategory, isNumber, type Feature, type Model, type Row, type Value } from './model.ts';
import { keepsRule } from './rules.ts';

type Bound = [number | null, number | null];
export type Direction = 'increase' | 'decrease' | 'any';

export interface Wishes {
  lock?: string[];
  bounds?: Record<string, Bound>;
  direction?: Record<string, Direction>;
}

/** `options` of a recourse file, as far as they bind rows. */
export interface Options extends Wishes {
  rules?: string[];
  weights?: Record<string, number>;
  range?: 'train' | 'off';
  queries?: Record<string, Wishes>;
  horizon?: string;
  exact?: { max_changes?: number };
  network?: { max_changes?: number };
}

/** What one feature may become. */
export interface Room {
  fixed: boolean;
  low: number;
  high: number;
  direction: Direction;
  step?: number;
  origin: number; // of the grid
  allowed?: Value[];
}

const DAYS: Record<string, number> = { day: 1, week: 7, month: 30.4375, year: 365.25 };

function days(text: string): number {
  const match = /^\s*([\d.eE+-]+)\s*(?:per\s+)?(day|week|month|year)s?\s*$/u.exec(text);
  if (match === null) throw new Error(`${text}: is no time that can be read`);
  return Number(match[1]) * DAYS[match[2]!]!;
}

/** By how much a slow feature can change within the horizon. */
function reach(slow: string, horizon: string): number {
  const match = /^\s*([\d.eE+-]+)\s+per\s+(day|week|month|year)\s*$/u.exec(slow);
  if (match === null) throw new Error(`slow: ${slow} cannot be read`);
  return (Number(match[1]) * days(horizon)) / DAYS[match[2]!]!;
}

/** The wishes for one person: those of the run, with the person's own in addition. */
export function wishesFor(options: Options, query: number): Wishes {
  const own = options.queries?.[String(query)] ?? {};
  const bounds: Record<string, Bound> = Object.create(null);
  for (const given of [options.bounds ?? {}, own.bounds ?? {}])
    for (const [name, [low, high]] of Object.entries(given))
      bounds[name] = [low ?? bounds[name]?.[0] ?? null, high ?? bounds[name]?.[1] ?? null];
  return {
    lock: [...(options.lock ?? []), ...(own.lock ?? [])],
    bounds,
    direction: Object.assign(Object.create(null), options.direction, own.direction),
  };
}

export function roomOf(model: Model, feature: Feature, own: number, options: Options, wishes: Wishes): Room {
  const [low, high] = wishes.bounds?.[feature.name] ?? [null, null];
  const hasCode = feature.bins !== null && isCode(feature.bins, own); // which has no distance to any number
  const room: Room = {
    fixed: feature.immutable || hasCode || (wishes.lock ?? []).includes(feature.name),
    low: low ?? feature.min ?? -Infinity,
    high: high ?? feature.max ?? Infinity,
    direction: wishes.direction?.[feature.name] ?? feature.direction,
    step: feature.grid,
    origin: feature.step === undefined ? 0 : (feature.min ?? 0),
    allowed: feature.allowed,
  };
  if (isCategory(feature.kind)) return room;
  if (isNumber(feature.kind) && (options.range ?? 'train') === 'train') {
    room.low = Math.max(room.low, Math.min(feature.low, own));
    room.high = Math.min(room.high, Math.max(feature.high, own));
  }
  if (feature.slow !== undefined && options.horizon !== undefined) {
    const most = reach(feature.slow, options.horizon);
    const whole = feature.kind === 'ordinal' ? Math.floor(most) : most;
    room.low = Math.max(room.low, own - whole);
    room.high = Math.min(room.high, own + whole);
  }
  if (room.direction === 'increase') room.low = Math.max(room.low, own);
  if (room.direction === 'decrease') room.high = Math.min(room.high, own);
  return room;
}

function onGrid(value: number, room: Room): boolean {
  if (room.step === undefined) return true;
  const steps = (value - room.origin) / room.step;
  return Math.abs(steps - Math.round(steps)) <= 1e-9;
}

/** A number of the grid that misses an edge or an end by rounding alone is that one to whoever reads it. */
function isNearlyAnother(bins: Bins, value: number, isOnGrid: boolean): boolean {
  const near = [...bins.edges, ...bins.ends].find((edge) => isOnGrid && Math.abs(value - edge) <= 4e-16 * Math.abs(value));
  return near !== undefined && (!reaches(bins, near) || binOf(bins, near) !== binOf(bins, value));
}

function violation(model: Model, feature: Feature, from: Row, to: Row, room: Room): string | null {
  const before = position(feature, from[feature.name]), after = position(feature, to[feature.name]);
  const value = to[feature.name];
  if (after === null) return `${feature.name}: ${JSON.stringify(value)} is no value of this feature`;
  if (before === null) return `${feature.name}: the person's own value cannot be read`;
  if (after === before) return null; // a person's own value is always allowed
  if (room.fixed) return `${feature.name}: must not change`;
  if (room.allowed !== undefined && !room.allowed.some((one) => position(feature, isNumber(feature.kind) ? Number(one) : one) === after))
    return `${feature.name}: ${value} is not an allowed value`;
  if (isCategory(feature.kind)) return null;
  if (feature.bins !== null && isCode(feature.bins, after)) return `${feature.name}: ${value} is a code, to which no plan leads`;
  if (feature.bins !== null && isNearlyAnother(feature.bins, after, room.allowed === undefined))
    return `${feature.name}: ${value} is read as a number of another bin`;
  const rounding = 1e-12 * Math.max(Math.abs(after), Math.abs(before));
  if (after < room.low - rounding) return `${feature.name}: ${value} is too low`;
  if (after > room.high + rounding) return `${feature.name}: ${value} is too high`;
  if (isNumber(feature.kind) && !onGrid(after, room)) return `${feature.name}: ${value} is not on the grid`;
  return null;
}

/** What the row breaks, in words; nothing where it may be an answer. */
export function violations(model: Model, from: Row, to: Row, options: Options, query: number): string[] {
  if (model.beyond !== null) return [];
  const wishes = wishesFor(options, query);
  const found: string[] = [];
  for (const feature of model.features) {
    const own = position(feature, from[feature.name]) ?? 0;
    const broken = violation(model, feature, from, to, roomOf(model, feature, own, options, wishes));
    if (broken !== null) found.push(broken);
  }
  const changed = model.features.filter((f) => from[f.name] !== to[f.name]).length;
  if (found.length > 0 || changed === 0) return found; // whoever stays as they are breaks nothing
  for (const rule of [...model.rules, ...(options.rules ?? [])]) if (!keepsRule(model, rule, from, to)) found.push(`rule ${rule}`);
  const most = options.exact?.max_changes ?? options.network?.max_changes ?? Infinity;
  if (changed > most) found.push(`${changed} features change, at most ${most} may`);
  return found;
}
