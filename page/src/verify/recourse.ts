// The records of a recourse file: certificate, row, constraints, changes and distances.
import { verifyCertificate, type Certificate, type Verdict } from './certificate.ts';
import { violations, type Options } from './constraints.ts';
import { encode } from './encoder.ts';
import { canonical, type Node } from './json.ts';
import type { Model, Row, Value } from './model.ts';
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
  logit?: number;
  robust_logit?: number;
  robustness_radius?: number;
  attained_epsilon?: number;
  certificate?: Certificate;
}

/** What was asked, without the records. */
export interface Asked {
  model_sha256: string;
  epsilon: { value: number; rule: string };
  set: string;
  options: Options & { threshold: number; target?: string[]; damping?: number };
}

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

function checkChanges(model: Model, record: Record_, failures: string[]): void {
  const { query, counterfactual: after } = record;
  const moved = model.features.filter((f) => query[f.name] !== after![f.name]);
  const stated = record.changes ?? [];
  const isSame = stated.length === moved.length &&
    moved.every((f) => stated.some((c) => c.feature === f.name && c.from === query[f.name] && c.to === after![f.name]));
  if (!isSame) failures.push('the changes are not those between the two rows');
  if (record.distance === undefined) return;
  const step = moveOf(model, query, after!);
  const l2 = Math.hypot(...step), l1 = step.reduce((sum, s) => sum + Math.abs(s), 0);
  if (!isNear(record.distance.l2, l2)) failures.push(`distance.l2 is stated as ${record.distance.l2}, but is ${l2}`);
  if (!isNear(record.distance.l1, l1)) failures.push(`distance.l1 is stated as ${record.distance.l1}, but is ${l1}`);
  if (record.distance.changed !== moved.length) failures.push(`${moved.length} features change, not ${record.distance.changed}`);
}

function checkAsked(asked: Asked, record: Record_, failures: string[]): void {
  const certificate = record.certificate!;
  const epsilon = record.status === 'reduced' ? record.attained_epsilon : asked.epsilon.value;
  if (certificate.epsilon !== epsilon) failures.push(`the certificate is for ε = ${certificate.epsilon}, not for ${epsilon}`);
  if (certificate.threshold !== asked.options.threshold) failures.push('the certificate is for another threshold');
  if (certificate.set !== asked.set) failures.push('the certificate is for another set of models');
  if ((certificate.damping ?? null) !== (asked.options.damping ?? null) && asked.options.damping !== undefined)
    failures.push('the certificate is for another damping');
  if (!sameRow(certificate.point, record.counterfactual)) failures.push('the certificate is about another row');
}

/** Statuses that promise a certificate. */
const PROMISES = ['optimal', 'certified', 'already_robust', 'reduced'];

export function verifyRecord(model: Model, asked: Asked, record: Record_, others: Model[] = []): Verdict {
  if (record.certificate === undefined) {
    const isMissing = PROMISES.includes(record.status);
    return {
      holds: isMissing ? false : null,
      failures: isMissing ? ['there is no certificate'] : [],
      notChecked: isMissing ? [] : ['it claims no plan; proofs of infeasibility are checked by `ellice verify`'],
      logit: null,
      robustLogit: null,
    };
  }
  const verdict = verifyCertificate(model, record.certificate, others);
  const failures = [...verdict.failures];
  if (model.beyond !== null) return verdict;
  checkAsked(asked, record, failures);
  try {
    for (const broken of violations(model, record.query, record.counterfactual!, asked.options, record.query_index))
      failures.push(broken);
    checkChanges(model, record, failures);
  } catch (error) {
    failures.push(error instanceof Error ? error.message : String(error));
  }
  if (verdict.logit !== null && record.logit !== undefined && !isNear(record.logit, verdict.logit))
    failures.push('the logit of the record is not that of its row');
  const stated = [record.certificate, ...(record.certificate.members ?? [])].map((part) => part.robust_logit);
  if (record.robust_logit !== undefined && record.robust_logit !== Math.min(...stated))
    failures.push('the robust logit of the record is not that of its certificate');
  return { ...verdict, failures, holds: failures.length > 0 ? false : verdict.holds };
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
