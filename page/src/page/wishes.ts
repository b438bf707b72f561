// What a person asks of plans beyond the schema: locks, limits, directions, difficulty, rules.
import type { Direction, Options } from '../verify/constraints.ts';
import type { Model } from '../verify/model.ts';

export interface Wish {
  lock?: boolean;
  low?: number;
  high?: number;
  direction?: Direction;
  difficulty?: number; // 1 … 5
}
export type Wishes = Record<string, Wish>;

const USUAL = 3;

/** How much longer a way counts that is harder: twice as long for each step of difficulty. */
export const stretch = (wish: Wish | undefined): number => 2 ** ((wish?.difficulty ?? USUAL) - USUAL);

export const isWish = (wish: Wish): boolean =>
  Object.entries(wish).some(([key, value]) => value !== undefined && value !== false && !(key === 'difficulty' && value === USUAL));

/** Options of a run with these wishes over them. Squares of ways are minimised, so weights are squares. */
export function withWishes<T extends Options>(given: T, model: Model, wishes: Wishes, rules: string[]): T & Options {
  const bounds: NonNullable<Options['bounds']> = Object.assign(Object.create(null), given.bounds);
  const direction: NonNullable<Options['direction']> = Object.assign(Object.create(null), given.direction);
  const weights: NonNullable<Options['weights']> = Object.assign(Object.create(null), given.weights);
  const lock = new Set(given.lock ?? []);
  for (const feature of model.features) {
    const { name } = feature, wish = wishes[name];
    if (wish === undefined) continue;
    if (wish.lock) lock.add(name);
    if (wish.low !== undefined || wish.high !== undefined) bounds[name] = [wish.low ?? bounds[name]?.[0] ?? null, wish.high ?? bounds[name]?.[1] ?? null];
    if (wish.direction !== undefined) direction[name] = wish.direction;
    if (stretch(wish) !== 1) weights[name] = (weights[name] ?? feature.weight) * stretch(wish) ** 2;
  }
  return { ...given, lock: [...lock], bounds, direction, weights, rules: [...(given.rules ?? []), ...rules] };
}

const DIRECTIONS = ['increase', 'decrease', 'any'];

/** From a link, in which anything may stand. */
export function readWishes(model: Model, text: string | null): Wishes {
  const wishes: Wishes = Object.create(null);
  let given: unknown;
  try {
    given = JSON.parse(text ?? '{}');
  } catch {
    return wishes;
  }
  if (given === null || typeof given !== 'object') return wishes;
  for (const [name, one] of Object.entries(given)) {
    if (one === null || typeof one !== 'object' || !model.features.some((f) => f.name === name)) continue;
    const { lock, low, high, direction, difficulty } = one as Record<string, unknown>;
    const wish: Wish = {};
    if (lock === true) wish.lock = true;
    if (typeof low === 'number') wish.low = low;
    if (typeof high === 'number') wish.high = high;
    if (DIRECTIONS.includes(direction as string)) wish.direction = direction as Direction;
    if (Number.isInteger(difficulty) && (difficulty as number) >= 1 && (difficulty as number) <= 5) wish.difficulty = difficulty as number;
    wishes[name] = wish;
  }
  return wishes;
}
