// The records of a recourse file: certificate, row, constraints, changes and distances.
import { verifyCertificate, type Certificate, type Verdict } from './certificate.ts';
import { violations, type Options } from './constraints.ts';
import { encode } from './encoder.ts';
import { canonical, type Node } from './json.ts';
import type { Feature, Model, Row, Value } from './model.ts';
import type { Asked } from './request.ts';
import { sha256 } from './sha256.ts';

export interface Change {
  feature: string;
  from: Value;
  to: Value;
}

export interface Record_ {
  query_index: number;
  plan: number;
  status: string;
  id?: string;
  query: Row;
  counterfactual?: Row;
  changes?: Change[];
  distance?: { l2: number; l1: number; weighted: number; changed: number };
  target?: string;
  logit?: number;
  robust_logit?: number;
  robustness_radius?: number;
  attained_epsilon?: number;
  gap?: number;
  infeasible?: object;
  certificate?: Certificate;
}

/** Far below what any objective in double precision is known to. */
const NO_EPSILON = 1e-18;

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)) + 1e-13;

function sameRow(a: Row, b: Row | undefined): boolean {
  return b !== undefined && Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => a[key] === b[key]);
}

/** The move in model space; of a number that the model sees by its bin that of the number. */
function moveOf(model: Model, from: Row, to: Row): number[] {
  const a = encode(model, from), step = encode(model, to).map((value, j) => value - a[j]!);
  for (const feature of model.features) {
    if (feature.bins === null) continue;
    step.fill(0, feature.column, feature.column + feature.columns);
    step[feature.column] = ((to[feature.name] as number) - (from[feature.name] as number)) / feature.spread;
  }
  return step;
}

/** What was minimised (formats.md, `distance`). */
function costOf(model: Model, asked: Asked, step: number[]): number {
  const termOf = (feature: Feature): number => {
    const own = step.slice(feature.column, feature.column + feature.columns);
    if (own.every((move) => move === 0)) return 0;
    const squares = own.reduce((sum, move) => sum + move * move, 0), absolutes = own.reduce((sum, move) => sum + Math.abs(move), 0);
    const isOne = asked.cost === 'mixed' && (feature.kind === 'categorical' || feature.kind === 'binary');
    const term = isOne ? 1 : (asked.cost === 'l1' ? 0 : squares) + (asked.cost.startsWith('l1') ? absolutes : 0);
    return (asked.options.weights?.[feature.name] ?? feature.weight) * term;
  };
  const terms = model.features.map(termOf), sum = terms.reduce((a, b) => a + b, 0);
  return (asked.cost === 'mixed' ? Math.sqrt(sum) : sum) + (asked.options.sparsity_weight ?? 0) * terms.filter((term) => term > 0).length;
}

/** Changes and distances; false where nothing changes. */
function checkChanges(model: Model, asked: Asked, record: Record_, failures: string[]): boolean {
  const { query, counterfactual: after, changes = [], distance } = record;
  const moved = model.features.filter((f) => query[f.name] !== after![f.name]);
  const isSame = changes.length === moved.length &&
    moved.every((f, i) => changes[i]!.feature === f.name && changes[i]!.from === query[f.name] && changes[i]!.to === after![f.name]);
  if (!isSame) failures.push('the changes are not those between the two rows');
  const step = moveOf(model, query, after!);
  const own = { l2: Math.hypot(...step), l1: step.reduce((sum, s) => sum + Math.abs(s), 0), weighted: costOf(model, asked, step), changed: moved.length };
  for (const [name, value] of Object.entries(own)) {
    const stated = distance?.[name as keyof typeof own];
    if (stated === undefined || !isNear(stated, value)) failures.push(`distance.${name} is stated as ${stated}, but is ${value}`);
  }
  return moved.length > 0;
}

/** The damping that a certificate states: none where it is the own of all models. */
function dampingOf(model: Model, { options }: Asked, others: Model[]): number | undefined {
  const all = [model, ...others.filter((one) => options.ensemble?.includes(one.sha256))];
  return all.every((one) => one.l2 === options.damping) ? undefined : options.damping;
}

const sameSet = (a: string[], b: string[]): boolean => a.length === b.length && [...a].sort().join('\0') === [...b].sort().join('\0');

function checkAsked(model: Model, asked: Asked, record: Record_, others: Model[], failures: string[]): void {
  const certificate = record.certificate!, { options } = asked;
  const epsilon = record.status === 'reduced' ? record.attained_epsilon : asked.epsilon.value;
  if (certificate.epsilon !== epsilon) failures.push(`the certificate is for ε = ${certificate.epsilon}, not for ${epsilon}`);
  if (certificate.threshold !== options.threshold) failures.push('the certificate is for another threshold');
  if (certificate.set !== asked.set) failures.push('the certificate is for another set of models');
  // That of the set `full` is always stated, and may be the model's own.
  const isOwn = certificate.set === 'full' && options.damping === undefined;
  if (!isOwn && certificate.damping !== dampingOf(model, asked, others)) failures.push('the certificate is for another damping');
  if (!sameRow(certificate.point, record.counterfactual)) failures.push('the certificate is about another row');
  if (!sameSet(options.ensemble ?? [], (certificate.members ?? []).map((one) => one.model_sha256))) failures.push('the certificate is for other models of an ensemble');
  if (certificate.target !== record.target) failures.push('the certificate is for another class');
  if (!sameSet(options.target ?? [], certificate.acceptable ?? [certificate.target ?? []].flat())) failures.push('the certificate is for other classes than those asked for');
}

/** Statuses that promise a certificate. */
const PROMISES = ['optimal', 'certified', 'already_robust', 'reduced'];
const STATUSES = [...PROMISES, 'infeasible', 'not_found', 'uncertified', 'invalid'];

/** What stands beside the certificate, as people call it. */
const BESIDE: Record<string, string> = {
  reasons: 'the reasons', query_violations: 'what today’s values break', held: 'what was held', score: 'the points', predicted_survival: 'the chance to outlast retraining',
  infeasible: 'the proof that no plan exists, and what blocks', attack: 'the attack', optimality: 'the proof of optimality', message: 'the message', reason: 'how the plan differs',
};
const KEYS = ['query_index', 'plan', 'status', 'id', 'target', 'query', 'counterfactual', 'changes', 'distance', 'logit', 'robust_logit', 'robustness_radius', 'refits', 'selection_shift',
  'survival_interval', 'survival_spread', 'gap', 'certificate', 'attained_epsilon', 'seconds', 'sha256', ...Object.keys(BESIDE)];

/** Whether the status is one, and goes with what else is there. */
function checkStatus(asked: Asked, record: Record_, failures: string[]): void {
  const { status, gap } = record, has = (key: keyof Record_): boolean => record[key] !== undefined && record[key] !== null;
  const need = (isRight: boolean, what: string): void => void (isRight || failures.push(what));
  for (const key of Object.keys(record)) need(KEYS.includes(key), `${key} is no key that is known here`);
  need(STATUSES.includes(status), `there is no status ${status}`);
  const promises = PROMISES.includes(status);
  need(promises === has('certificate'), promises ? 'there is no certificate' : 'a certificate stands beside a status that promises none');
  need((promises || status === 'uncertified') === has('counterfactual'), has('counterfactual') ? `a row stands beside the status ${status}` : 'there is no row');
  need((status === 'infeasible') === has('infeasible'), status === 'infeasible' ? 'nothing shows that no plan exists' : 'a proof that no plan exists stands beside a plan');
  need((status === 'reduced') === has('attained_epsilon') && (status !== 'reduced' || record.attained_epsilon! < asked.epsilon.value), 'attained_epsilon belongs to the status reduced, and is below the ε asked for');
  need(status !== 'optimal' || gap === 0, 'what is optimal has a gap of 0');
  need(gap === undefined || (gap >= 0 && gap <= 1 && (status !== 'already_robust' || gap === 0)), `a gap of ${gap} does not go with this status`);
}

/** What the record states and this page does not check. */
function besideOf(record: Record_, hasRadius: boolean): string[] {
  const beside = Object.entries(BESIDE).filter(([key]) => Object.hasOwn(record, key)).map(([, text]) => text);
  if (record.gap !== undefined && record.status !== 'already_robust') beside.unshift(record.status === 'optimal' ? 'that no allowed plan is nearer' : 'how much nearer another plan could be');
  if (record.robustness_radius !== undefined && !hasRadius) beside.push('up to which ε it is robust');
  return beside;
}

/** Logits and the radius, against those of the certificate that were found. */
function checkNumbers(record: Record_, verdict: Verdict, failures: string[]): void {
  const certificate = record.certificate!, parts = [certificate, ...(certificate.members ?? [])];
  if (record.logit !== certificate.logit) failures.push('the logit of the record is not that of its certificate');
  if (record.robust_logit !== Math.min(...parts.map((part) => part.robust_logit))) failures.push('the robust logit of the record is not that of its certificate');
  const { robustness_radius: stated } = record, { radius } = verdict;
  if (stated !== undefined && radius !== null && !(Math.abs(stated - radius) <= 1e-7 * Math.max(stated, radius) + NO_EPSILON))
    failures.push(`robustness_radius is stated as ${stated}, but is ${radius}`);
}

/** One answer; whether what was asked is in order is for `verifyRequest`. */
export function verifyRecord(model: Model, asked: Asked, record: Record_, others: Model[] = []): Verdict {
  const failures: string[] = [];
  checkStatus(asked, record, failures);
  const none: Verdict = { holds: null, failures: [], notChecked: ['it promises nothing'], beside: [], logit: null, robustLogit: null, radius: null };
  const verdict = record.certificate ? verifyCertificate(model, record.certificate, others) : none;
  failures.push(...verdict.failures);
  if (model.beyond === null && failures.length === 0 && record.counterfactual) {
    try {
      const changes = checkChanges(model, asked, record, failures);
      if (record.certificate) {
        checkAsked(model, asked, record, others, failures);
        checkNumbers(record, verdict, failures);
        failures.push(...violations(model, record.query, record.counterfactual, asked.options, record.query_index));
        if (record.status === 'already_robust' && changes) failures.push('who needs no change changes nothing, but the rows differ');
      }
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { ...verdict, failures, beside: besideOf(record, verdict.radius !== null), holds: failures.length > 0 ? false : verdict.holds };
}

const AROUND = ['results', 'explained', 'interrupted', 'sha256'];

/** Hashes of a recourse file that do not fit. */
export function wrongHashes(file: Node): string[] {
  if (file.kind !== 'object') return ['this is no recourse file'];
  const entries = new Map(file.members);
  const own = entries.get('sha256'), results = entries.get('results');
  if (own?.kind !== 'string' || results?.kind !== 'array') return []; // files of version 0.1.0 have none
  const asked = sha256(canonical(file, AROUND));
  const wrong: string[] = [];
  let all = '';
  results.items.forEach((record, i) => {
    const stated = record.kind === 'object' ? new Map(record.members).get('sha256') : undefined;
    const found = stated?.kind === 'string' ? stated.value : '';
    if (sha256(asked + canonical(record, ['sha256'])) !== found) wrong.push(`record ${i}: its hash is not that of its text`);
    all += found;
  });
  const around: Node = { kind: 'object', members: file.members.filter(([key]) => key === 'explained' || key === 'interrupted') };
  if (sha256(all + asked + canonical(around)) !== own.value) wrong.push('the hash of the file is not that of its records and request');
  return wrong;
}
