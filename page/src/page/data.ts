// What the page knows: a model, and answers. Inlined into the file, or asked of the service that served it.
import { readModel, type Model, type Row } from '../verify/model.ts';
import type { Record_ } from '../verify/recourse.ts';
import type { Asked } from '../verify/request.ts';

export interface Histogram {
  edges?: number[];
  levels?: string[];
  counts: number[];
}

export interface Reasons {
  reference: string;
  logit: number;
  items: { feature: string; contribution: number; code?: string; text: string }[];
}

export interface Infeasible {
  proof?: { enumeration?: boolean; upper_bound?: number };
  max_epsilon?: number;
  blocking?: string[];
  blocking_is?: string;
  blocking_witnesses?: (Row | null)[];
  best?: { point: Row; robust_logit: number };
}

export interface Answer extends Record_ {
  message?: string;
  reason?: string;
  predicted_survival?: number;
  survival_interval?: [number, number];
  query_violations?: string[];
  held?: string[];
  reasons?: Reasons;
  infeasible?: Infeasible;
  attack?: { broken: boolean };
  sha256?: string;
}

export interface Curve {
  query_index: number;
  max_epsilon?: number;
  max_epsilon_is_proved?: boolean;
  points: { epsilon: number; feasible: boolean; distance: number; cost: number }[];
}

export interface Person {
  index: number;
  name: string;
  plans: Answer[];
  shown: number; // the plan to recommend
  head?: Head; // what was asked for this person alone
  wished?: string; // the wishes that these plans were searched for
  curve?: Curve; // of these plans
  isNew?: boolean; // typed on the page: the form says who they are
  whatIf?: Person; // plans for other values than theirs
}

export interface Head extends Asked {
  reasons?: { text: string };
}

export interface PageText {
  title: string;
  program: string;
  worth?: number;
  trade_off?: boolean;
  asked: [string, string][];
  options: [string, string][];
  histograms: Record<string, Histogram> | null;
  curves: Curve[];
}

export interface Data {
  model: Model;
  modelText: string;
  head: Head;
  people: Person[];
  page: PageText;
  recourseText: string | null;
  total: number; // people whom the service has; the page may know fewer
}

/** Of a trade-off the last plan whose further changes still save enough; otherwise the first. */
export function recommended(plans: Answer[], worth: number): number {
  let place = 0;
  if (plans.length < 2 || !plans.every((plan) => plan.counterfactual)) return 0;
  while (place + 1 < plans.length) {
    const fewer = plans[place]!.distance!, more = plans[place + 1]!.distance!;
    const further = more.changed - fewer.changed;
    if (further < 1 || !(fewer.weighted > 0) || (1 - more.weighted / fewer.weighted) / further < worth) break;
    place++;
  }
  return place;
}

const MOST_PLANS = 5;

export function byPerson(records: Answer[], worth: number, isTradeOff: boolean): Person[] {
  const people = new Map<number, Answer[]>();
  for (const record of records) {
    const plans = people.get(record.query_index);
    if (plans) plans.push(record);
    else people.set(record.query_index, [record]);
  }
  return [...people].map(([index, plans]) => {
    const best = isTradeOff ? recommended(plans, worth) : 0;
    const first = Math.max(0, best - MOST_PLANS + 1);
    return { index, name: plans[0]!.id ?? `Person ${index + 1}`, plans: plans.slice(first, first + MOST_PLANS), shown: best - first };
  });
}

function inlined(id: string): string | null {
  const text = document.getElementById(id)?.textContent?.trim() ?? '';
  return text === '' || text === 'null' ? null : text;
}

export const isTradeOff = (head: Head): boolean => (head.options as { exact?: { trade_off?: boolean } }).exact?.trade_off === true;

const texts = new WeakMap<Answer, string>();

/** A record as it was written, for hashes: a number's spelling counts. */
export const textOf = (answer: Answer): string => texts.get(answer) ?? JSON.stringify(answer);

/** The records of a recourse file, each with its own text, and what stands around them. */
export function readRecourse(text: string): { head: Head; records: Answer[] } {
  const begin = text.search(/"results"\s*:\s*\[/);
  if (begin < 0) throw new Error('this is no recourse file: it has no results');
  const first = text.indexOf('[', begin);
  const records: Answer[] = [];
  let depth = 0, start = 0, at = first + 1;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x22) {
      for (at++; text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
    } else if (c === 0x7b && depth++ === 0) start = at;
    else if (c === 0x7d && --depth === 0) {
      const own = text.slice(start, at + 1);
      const record = JSON.parse(own) as Answer;
      texts.set(record, own);
      records.push(record);
    } else if (c === 0x5d && depth === 0) break;
  }
  const head = JSON.parse(text.slice(0, first + 1) + text.slice(at)) as Head & { results?: unknown };
  delete head.results;
  return { head, records };
}

/** A model to be shown: levels that all repeat their feature's name (`housing_own`) are called by the rest. */
export function readShown(text: string): Model {
  const model = readModel(text);
  for (const feature of model.features) {
    const prefix = `${feature.name}_`;
    if (feature.levelTexts.length > 1 && feature.levelTexts.every((level) => level.length > prefix.length && level.startsWith(prefix)))
      feature.levelTexts = feature.levelTexts.map((level) => level.slice(prefix.length));
  }
  return model;
}

/** The answers that stand in the file itself; nothing where it came from a service. */
export function fromFile(): Data | null {
  const modelText = inlined('ellice-model'), recourseText = inlined('ellice-recourse'), pageText = inlined('ellice-page');
  if (modelText === null || recourseText === null || pageText === null) return null;
  const { head, records } = readRecourse(recourseText);
  const page = JSON.parse(pageText) as PageText;
  const people = byPerson(records, page.worth ?? 0.2, page.trade_off ?? isTradeOff(head));
  return {
    model: readShown(modelText),
    modelText,
    head,
    people,
    total: people.length,
    page,
    recourseText,
  };
}

/** Somebody in the middle of the training rows, to start from. */
export function averagePerson(data: Data): Row {
  const row = Object.create(null) as Row;
  for (const feature of data.model.features) {
    const mean = feature.centre;
    if (feature.levels.length > 0) {
      const all = data.page.histograms;
      const counts = all && Object.hasOwn(all, feature.name) ? all[feature.name]!.counts : undefined;
      const most = counts ? counts.indexOf(Math.max(...counts)) : feature.kind === 'ordinal' ? Math.round(mean) : 0;
      row[feature.name] = feature.levels[Math.max(0, Math.min(most, feature.levels.length - 1))]!;
    } else {
      const step = feature.step ?? (feature.kind === 'integer' ? 1 : 0);
      const origin = feature.step === undefined ? 0 : (feature.min ?? 0);
      row[feature.name] = step > 0 ? Number((origin + step * Math.round((mean - origin) / step)).toPrecision(12)) : Number(mean.toPrecision(3));
    }
  }
  return row;
}
