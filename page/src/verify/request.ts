// What a recourse file says was asked, and about whom: every key is known, fits the model, and nobody is missing.
import type { Direction, Options, Wishes } from './constraints.ts';
import type { Model } from './model.ts';

/** What was asked, without the records. */
export interface Asked {
  model_sha256: string;
  epsilon: { value: number; rule: string };
  set: string;
  cost: string;
  method?: string;
  options: Options & { threshold: number; target?: string[]; damping?: number; ensemble?: string[]; retrain?: string; sparsity_weight?: number; declined?: boolean };
}

/** The records, as far as they say who they are about. */
export interface Told {
  options: { declined?: boolean };
  results: { query_index: number; plan: number }[];
  explained?: number;
  interrupted?: boolean;
  sha256?: string;
}

export interface Findings {
  failures: string[];
  /** What is stated and not checked here. */
  beside: string[];
}

const KEYS = ['format', 'version', 'model_sha256', 'epsilon', 'set', 'cost', 'method', 'seed', 'options', 'reasons', 'not_stated', 'results', 'explained', 'interrupted', 'sha256'];
const WISHES = ['lock', 'bounds', 'direction'];
const OPTIONS = ['threshold', 'target', 'damping', 'ensemble', 'retrain', 'range', ...WISHES, 'queries', 'rules', 'weights', 'horizon', 'sparsity_weight', 'declined', 'used'];
const METHODS = ['exact', 'network', 'gradient', 'greedy', 'gumbel', 'data', 'trex', 'trex-i', 'delta', 'proplace', 'roar'];
const COSTS = ['l2', 'l1', 'l1+l2', 'mixed'];
const DIRECTIONS: Direction[] = ['increase', 'decrease', 'any'];

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);
const isList = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === 'string');
const isNumberOver = (value: unknown, least: number): boolean => typeof value === 'number' && Number.isFinite(value) && value > least;

/** The ε that a rule gives; null where it rests on more than the model, undefined where it is no rule. */
function epsilonOf(rule: string, model: Model): number | null | undefined {
  if (rule === 'auto' || /^(?:survival|accuracy):\d+(?:\.\d+)?%$/u.test(rule)) return null;
  const match = /^(target:)?(\d\S*?|\.\d\S*?)(%)?$/u.exec(rule);
  const value = Number(match?.[2] ?? NaN), excess = model.deployed?.excess ?? 0;
  if (match === null || !Number.isFinite(value) || (match[1] && match[3])) return undefined;
  if (match[3]) return (value * model.objective) / 100 + excess;
  return value + (match[1] ? 0.01 : 0) + excess; // the paper's allowance
}

function checkEpsilon(model: Model, { epsilon }: Asked, found: Findings): void {
  if (!isObject(epsilon) || !isNumberOver(epsilon.value, -1e-300) || typeof epsilon.rule !== 'string') {
    found.failures.push('epsilon must have a value ≥ 0 and its rule');
    return;
  }
  const own = epsilonOf(epsilon.rule, model);
  if (own === undefined) found.failures.push(`epsilon.rule: ${epsilon.rule} is no rule`);
  else if (own === null) found.beside.push(`that the rule ${epsilon.rule} gives this ε`);
  else if (Math.abs(own - epsilon.value) > 1e-12 * Math.max(own, epsilon.value))
    found.failures.push(`epsilon.value is ${epsilon.value}, but the rule ${epsilon.rule} gives ${own}`);
}

/** Locks, limits and directions, of everybody or of one person. */
function checkWishes(model: Model, wishes: Wishes, where: string, failures: string[]): void {
  const names = model.features.map((feature) => feature.name);
  const need = (isRight: boolean, key: string, what: string): void => void (isRight || failures.push(`${where}.${key}: ${what}`));
  const { lock = [], bounds = {}, direction = {} } = wishes;
  need(isList(lock) && lock.every((name) => names.includes(name)), 'lock', 'not all are features of the model');
  const isSide = (side: unknown): boolean => side === null || (typeof side === 'number' && Number.isFinite(side));
  need(isObject(bounds) && Object.entries(bounds).every(([name, pair]) => names.includes(name) && Array.isArray(pair) && pair.length === 2 && pair.every(isSide)), 'bounds', 'not all are pairs of numbers of a feature');
  need(isObject(direction) && Object.entries(direction).every(([name, way]) => names.includes(name) && DIRECTIONS.includes(way)), 'direction', 'not all are directions of a feature');
}

function checkOptions(model: Model, asked: Asked, failures: string[]): void {
  const { options, method, set } = asked;
  const need = (isRight: boolean, what: string): void => void (isRight || failures.push(`options.${what}`));
  const steps = method === 'greedy' || method === 'gumbel' ? ['gradient'] : []; // which they take
  const known = [...OPTIONS, ...(method !== undefined && METHODS.includes(method) ? [method] : []), ...steps];
  for (const key of Object.keys(options)) need(known.includes(key), `${key} is no option that is known here`);
  need(Number.isFinite(options.threshold), 'threshold must be a number');
  need(options.damping === undefined || isNumberOver(options.damping, 0), 'damping must be > 0');
  need(options.sparsity_weight === undefined || isNumberOver(options.sparsity_weight, -1e-300), 'sparsity_weight must be ≥ 0');
  need(options.range === undefined || options.range === 'train' || options.range === 'off', `range: ${options.range} is neither train nor off`);
  need(options.retrain === undefined || /^(?:same|fresh:[1-9]\d*)$/u.test(options.retrain), `retrain: ${options.retrain} is neither same nor fresh:N`);
  need(options.horizon === undefined || typeof options.horizon === 'string', 'horizon must be a time');
  need(options.rules === undefined || isList(options.rules), 'rules must be texts');
  need((set === 'ensemble') === (options.ensemble !== undefined) && (options.ensemble === undefined || isList(options.ensemble)), 'ensemble belongs to the set ensemble, and names models');
  const { target } = options, classes = model.kind === 'softmax' ? model.classes : [];
  const isTarget = isList(target) && target.length > 0 && target.every((name) => classes.includes(name)) && new Set(target).size < classes.length;
  need(model.kind === 'softmax' ? isTarget : target === undefined, 'target must be some of the classes of a model of many, and not all of them');
  const { weights = {}, queries = {} } = options;
  need(isObject(weights) && Object.entries(weights).every(([name, weight]) => model.features.some((f) => f.name === name) && isNumberOver(weight, 0)), 'weights: not all are weights of a feature');
  checkWishes(model, options, 'options', failures);
  need(isObject(queries) && Object.values(queries).every(isObject), 'queries must have wishes by number');
  for (const [index, wishes] of Object.entries(isObject(queries) ? queries : {})) {
    for (const key of Object.keys(wishes)) need(WISHES.includes(key), `queries.${index}.${key} is no option that is known here`);
    checkWishes(model, wishes, `options.queries.${index}`, failures);
  }
}

export function verifyRequest(model: Model, asked: Asked): Findings {
  const found: Findings = { failures: [], beside: [] };
  const { failures } = found;
  for (const key of Object.keys(asked)) if (!KEYS.includes(key)) failures.push(`${key} is no key that is known here`);
  if (asked.model_sha256 !== model.sha256) failures.push(`it speaks of the model ${asked.model_sha256}, not of this one, ${model.sha256}`);
  if (!COSTS.includes(asked.cost)) failures.push(`there is no cost called ${asked.cost}`);
  if (asked.method !== undefined && !METHODS.includes(asked.method)) failures.push(`there is no method called ${asked.method}`);
  checkEpsilon(model, asked, found);
  if (isObject(asked.options)) checkOptions(model, asked, failures);
  else failures.push('there are no options');
  return found;
}

/** Whether the records are of all who were explained: they count up, and the file says how many there were. */
export function verifyPeople({ options, results, explained, interrupted, sha256 }: Told): Findings {
  const found: Findings = { failures: [], beside: [] };
  const { failures, beside } = found;
  if (sha256 === undefined) beside.push('that it is as it was written: it states no hash');
  let next = 0, plan = 0, count = 0;
  for (const record of results) {
    const isFurther = count > 0 && record.query_index === next - 1;
    const isRight = Number.isInteger(record.query_index) && (isFurther ? record.plan === plan + 1 : record.query_index >= next && record.plan === 0);
    if (!isRight) {
      failures.push(`query_index and plan do not count up at ${record.query_index}, ${record.plan}`);
      return found;
    }
    if (!isFurther && record.query_index > next && options.declined !== true && interrupted !== true) failures.push(`people are missing before query ${record.query_index}`);
    if (!isFurther) count++;
    next = record.query_index + 1;
    plan = record.plan;
  }
  if (explained === undefined) beside.push('that nobody is missing: it does not say how many there were');
  else if (explained !== count) failures.push(`explained is ${explained}, but ${count} people have answers`);
  if (interrupted === true) beside.push('who is missing: the run was interrupted');
  return found;
}
