// Rules between features: linear (in)equalities, and implications that compare a row with the person's own.
import { position } from './encoder.ts';
import { isNumber, type Feature, type Model, type Row } from './model.ts';

const TOKEN = /\s*(?:(`[^`]*`|"[^"]*")|(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([\p{L}_][\p{L}\p{N}_]*)|(<=|>=|==|[+\-*]))/uy;

type Token = { kind: 'name' | 'number' | 'sign'; text: string };

function tokens(text: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  while (text.slice(at).trim() !== '') {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) throw new Error(`rule ${text}: cannot read ${text.slice(at)}`);
    at = TOKEN.lastIndex;
    const [, quoted, number, name, sign] = match;
    if (quoted !== undefined) found.push({ kind: 'name', text: quoted.slice(1, -1) });
    else if (number !== undefined) found.push({ kind: 'number', text: number });
    else if (name !== undefined) found.push({ kind: 'name', text: name });
    else found.push({ kind: 'sign', text: sign! });
  }
  return found;
}

/** left − right as numbers per feature and a constant; the sign compares it with 0. */
export interface Linear {
  terms: { name: string; factor: number }[];
  constant: number;
  sign: '<=' | '>=' | '==';
}

function readLinear(text: string): Linear {
  const result: Linear = { terms: [], constant: 0, sign: '==' };
  let side = 1, sign = 1, factor = 1, name: string | null = null, isOpen = false, compared = false;
  const close = (): void => {
    if (!isOpen) throw new Error(`rule ${text}: a term is missing`);
    if (name === null) result.constant += side * sign * factor;
    else result.terms.push({ name, factor: side * sign * factor });
    sign = factor = 1;
    name = null;
    isOpen = false;
  };
  for (const token of tokens(text)) {
    if (token.kind === 'number') {
      factor *= Number(token.text);
      if (!Number.isFinite(factor)) throw new Error(`rule ${text}: ${token.text} is too large`);
      isOpen = true;
    } else if (token.kind === 'name') {
      if (name !== null) throw new Error(`rule ${text}: is not linear`);
      name = token.text;
      isOpen = true;
    } else if (token.text === '+' || token.text === '-') {
      if (isOpen) close();
      if (token.text === '-') sign = -sign;
    } else if (token.text !== '*') {
      close();
      if (compared) throw new Error(`rule ${text}: compares twice`);
      compared = true;
      result.sign = token.text as Linear['sign'];
      side = -1;
    }
  }
  close();
  if (!compared) throw new Error(`rule ${text}: compares nothing`);
  return result;
}

type Verb = 'rises' | 'falls' | 'changes' | 'stays' | 'becomes';
interface Clause {
  name: string;
  verb: Verb;
  level: string;
  least: number;
}

const WORD = '(`[^`]*`|"[^"]*"|[^\\s`"]+)';
const IMPLICATION = new RegExp(
  `^\\s*if\\s+${WORD}\\s+(?:(rises|falls|changes)|becomes\\s+${WORD})\\s+then\\s+${WORD}\\s+` +
    `(?:(rises|falls)(?:\\s+by\\s+at\\s+least\\s+(\\S+))?|(stays)|becomes\\s+${WORD})\\s*$`,
  'u',
);
const plain = (word: string): string => (/^[`"]/.test(word) ? word.slice(1, -1) : word);

function readImplication(text: string): { condition: Clause; consequence: Clause } {
  const match = IMPLICATION.exec(text);
  if (match === null) throw new Error(`rule ${text}: is no implication that can be read`);
  const [, name, verb, level, other, moves, least, stays, end] = match;
  return {
    condition: { name: plain(name!), verb: (verb as Verb) ?? 'becomes', level: plain(level ?? ''), least: 0 },
    consequence: {
      name: plain(other!),
      verb: (moves as Verb) ?? (stays as Verb) ?? 'becomes',
      level: plain(end ?? ''),
      least: Number(least ?? 0),
    },
  };
}

function featureOf(model: Model, name: string, rule: string): Feature {
  const feature = model.features.find((f) => f.name === name);
  if (feature === undefined) throw new Error(`rule ${rule}: there is no feature ${name}`);
  return feature;
}

function keepsLinear(model: Model, text: string, row: Row): boolean {
  const rule = readLinear(text);
  let sum = rule.constant, size = Math.abs(rule.constant);
  for (const { name, factor } of rule.terms) {
    const feature = featureOf(model, name, text);
    if (!isNumber(feature.kind)) throw new Error(`rule ${text}: ${name} is no number`);
    const term = factor * (row[name] as number);
    sum += term;
    size += Math.abs(term);
  }
  const slack = 1e-12 * size;
  if (rule.sign === '<=') return sum <= slack;
  return rule.sign === '>=' ? sum >= -slack : Math.abs(sum) <= slack;
}

function holds(model: Model, text: string, clause: Clause, from: Row, to: Row, isCondition: boolean): boolean {
  const feature = featureOf(model, clause.name, text);
  const before = position(feature, from[clause.name])!, after = position(feature, to[clause.name])!;
  const level = (): number => position(feature, isNumber(feature.kind) ? Number(clause.level) : clause.level) ?? -1;
  const least = clause.least - 1e-9 * Math.max(1, Math.abs(clause.least));
  switch (clause.verb) {
    case 'rises':
      return after > before && after - before >= least;
    case 'falls':
      return after < before && before - after >= least;
    case 'changes':
      return after !== before;
    case 'stays':
      return after === before;
    case 'becomes':
      return after === level() && (!isCondition || after !== before);
  }
}

/** Why a text is no rule of this model, in words; nothing where it is one. */
export function whyNoRule(model: Model, text: string): string | null {
  try {
    const named = isImplication(text) ? Object.values(readImplication(text)).map((clause) => clause.name) : readLinear(text).terms.map((term) => term.name);
    if (named.length === 0) return `rule ${text}: it names no feature`;
    for (const name of named) if (featureOf(model, name, text).bins !== null && !isImplication(text)) return `rule ${text}: ${name} is seen by its bins, and no linear rule may name it`;
    keepsRule(model, text, {}, {});
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const isImplication = (text: string): boolean => /^\s*if\s/u.test(text);

export function keepsRule(model: Model, text: string, from: Row, to: Row): boolean {
  if (!isImplication(text)) return keepsLinear(model, text, to);
  const { condition, consequence } = readImplication(text);
  return !holds(model, text, condition, from, to, true) || holds(model, text, consequence, from, to, false);
}
