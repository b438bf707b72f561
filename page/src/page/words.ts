// Numbers, names and statuses as people read them. Units and levels are those of the schema.
import { isNumber, type Feature, type Model, type Value } from '../verify/model.ts';
import { position } from '../verify/encoder.ts';

export const STATUS: Record<string, { text: string; tone: string }> = {
  optimal: { text: 'Nearest certified plan', tone: 'good' },
  certified: { text: 'Certified plan', tone: 'good' },
  already_robust: { text: 'No change needed', tone: 'calm' },
  reduced: { text: 'Certified for a smaller ε', tone: 'fair' },
  infeasible: { text: 'No plan exists', tone: 'bad' },
  not_found: { text: 'No plan found', tone: 'fair' },
  uncertified: { text: 'Plan without certificate', tone: 'fair' },
  invalid: { text: 'Unreadable row', tone: 'grey' },
};

const GROUPS = /\B(?=(\d{3})+(?!\d))/g;

/** 15 300.5, with blanks that do not break; at most `digits` after the point. */
export function number(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toPrecision(3);
  const places = Math.max(0, Math.min(digits, size >= 1 ? digits - Math.floor(Math.log10(size)) : digits));
  const [whole, rest] = size.toFixed(Number.isInteger(value) ? 0 : places).split('.');
  const decimals = (rest ?? '').replace(/0+$/, '');
  return (value < 0 ? '−' : '') + whole!.replace(GROUPS, '\u202f') + (decimals ? '.' + decimals : '');
}

export function percent(share: number, digits = 1): string {
  if (!Number.isFinite(share)) return '–';
  if (share > 0 && share < 0.5 * 10 ** (-digits - 2)) return `<\u202f${10 ** -digits}\u202f%`;
  if (share < 1 && share > 1 - 0.5 * 10 ** (-digits - 2)) return `>\u202f${(100 - 10 ** -digits).toFixed(digits)}\u202f%`;
  return `${(100 * share).toFixed(digits)}\u202f%`;
}

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

export function valueText(feature: Feature, value: Value | undefined): string {
  if (value === undefined || value === null) return '–';
  if (isNumber(feature.kind)) return typeof value === 'number' ? number(value) : String(value);
  const at = position(feature, value);
  return at === null ? String(value) : feature.levelTexts[at]!;
}

export function withUnit(feature: Feature, value: Value | undefined): string {
  return valueText(feature, value) + (feature.unit ? `\u00a0${feature.unit}` : '');
}

export function verbOf(feature: Feature, from: Value, to: Value): string {
  if (feature.kind === 'categorical' || feature.kind === 'binary') return 'change';
  return position(feature, to)! > position(feature, from)! ? 'raise' : 'lower';
}

export interface Step {
  feature: Feature;
  verb: string;
  from: string;
  to: string;
}

export function steps(model: Model, changes: { feature: string; from: Value; to: Value }[]): Step[] {
  return changes.flatMap((change) => {
    const feature = model.features.find((f) => f.name === change.feature);
    if (!feature) return [];
    return [{ feature, verb: verbOf(feature, change.from, change.to), from: valueText(feature, change.from), to: withUnit(feature, change.to) }];
  });
}

/** Texts of the program with numbers that do not break, neither within (15 300) nor before their unit. */
export const whole = (text: string): string =>
  text.replace(/(\d) (?=\d{3}(?!\d))/g, '$1\u202f').replace(/(\d) (?=[^\s;,.)]{1,14}(?:[;,.)]|$))/g, '$1\u00a0');

/** A rule with labels for names and signs as people write them: debt + loan amount ≤ 2 × income. */
export function ruleText(model: Model, rule: string): string {
  const named = rule.replace(/`([^`]+)`|[A-Za-z_]\w*/g, (word, quoted?: string) => model.features.find((f) => f.name === (quoted ?? word))?.label ?? word);
  return named.replaceAll('<=', '≤').replaceAll('>=', '≥').replaceAll('==', '=').replaceAll(' * ', ' × ').replaceAll(' - ', ' − ');
}

/** What a row must keep or breaks, as the program or the verifier names it, for people. */
export function constraintText(model: Model, text: string): string {
  if (text.startsWith('rule ')) return `the rule ${ruleText(model, text.slice(5))}`;
  const feature = model.features.find((f) => text.startsWith(`${f.name}: `));
  if (!feature) return whole(text);
  const what = text.slice(feature.name.length + 2);
  const plain = what === 'immutable' ? 'cannot change' : what === 'locked' ? 'is locked' : what.replace(/(?<![\w.])\d{4,}(?!\w|\.\d)/g, (digits) => number(Number(digits)));
  return `${feature.label}: ${whole(plain)}`;
}

export const plural = (count: number, one: string, many = one + 's'): string => `${number(count)} ${count === 1 ? one : many}`;

/** A cell of CSV; what a spreadsheet would take for a formula gets an apostrophe. */
export function csvCell(value: unknown): string {
  let text = value === undefined || value === null ? '' : String(value);
  if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
