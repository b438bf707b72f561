// What was asked with one constraint less, as the program names those that block (formats.md, `infeasible.blocking`).
import type { Options } from './constraints.ts';
import type { Feature, Model } from './model.ts';

type Freed = Partial<Feature> & { unlocked?: boolean; unbounded?: 0 | 1; undirected?: boolean };

/** What of a feature is lifted; nothing where the words are not known. */
function freed(what: string): Freed | null {
  if (what === 'immutable') return { immutable: false };
  if (what === 'locked') return { unlocked: true };
  if (what.startsWith('at least ')) return { min: undefined, unbounded: 0 };
  if (what.startsWith('at most ')) return { max: undefined, unbounded: 1 };
  if (what.startsWith('within the training range ')) return { low: -Infinity, high: Infinity };
  if (what.startsWith('may only ')) return { direction: 'any', undirected: true };
  if (what.startsWith('changes by at most ')) return { slow: undefined };
  return what === 'among the allowed values' ? { allowed: undefined } : null;
}

function withoutWishes(options: Options, name: string, { unlocked, unbounded, undirected }: Freed): Options {
  const own = (given: Options): Options => {
    const [low = null, high = null] = given.bounds?.[name] ?? [];
    return {
      ...given,
      ...(unlocked ? { lock: (given.lock ?? []).filter((one) => one !== name) } : {}),
      ...(unbounded === undefined ? {} : { bounds: { ...given.bounds, [name]: unbounded === 0 ? [null, high] : [low, null] } }),
      ...(undirected ? { direction: { ...given.direction, [name]: 'any' } } : {}),
    };
  };
  const queries = Object.entries(options.queries ?? {}).map(([index, wishes]) => [index, own(wishes)]);
  return { ...own(options), queries: Object.fromEntries(queries) as Options['queries'] };
}

/** Null where the constraint is not known here. */
export function without(model: Model, options: Options, constraint: string): { model: Model; options: Options } | null {
  if (constraint.startsWith('rule ')) {
    const others = (rules: string[] = []): string[] => rules.filter((rule) => rule !== constraint.slice(5));
    return { model: { ...model, rules: others(model.rules) }, options: { ...options, rules: others(options.rules) } };
  }
  if (/^at most \d+ features? may change$/u.test(constraint)) return { model, options: { ...options, exact: undefined, network: undefined } };
  const feature = model.features.find((one) => constraint.startsWith(`${one.name}: `));
  const change = feature ? freed(constraint.slice(feature.name.length + 2)) : null;
  if (feature === undefined || change === null) return null;
  const features = model.features.map((one) => (one === feature ? { ...one, ...change } : one));
  return { model: { ...model, features }, options: withoutWishes(options, feature.name, change) };
}
