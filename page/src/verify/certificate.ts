// A certificate against the model file: everything is computed again, and the verdict rests on our own numbers.
import { decide } from './deployed.ts';
import { encode } from './encoder.ts';
import { type Model, type Row } from './model.ts';
import { Ellipsoid, leadOf, type Judgement } from './robust.ts';

export interface Certificate {
  format: string;
  version: number;
  model_sha256: string;
  set: string;
  epsilon: number;
  threshold: number;
  damping?: number;
  point: Row;
  encoded: number[];
  logit: number;
  robust_logit: number;
  worst_model?: number[];
  target?: string;
  acceptable?: string[];
  rivals?: { class: string; logit: number; robust_logit: number; worst_model: number[] }[];
  members?: { model_sha256: string; logit: number; robust_logit: number; worst_model: number[] }[];
  claim: string;
}

export interface Verdict {
  /** True: proved. False: something is wrong. Null: nothing is wrong, but this page cannot prove all of it. */
  holds: boolean | null;
  failures: string[];
  notChecked: string[];
  logit: number | null;
  robustLogit: number | null;
}

const SETS_CHECKED = ['last-layer', 'ensemble'];
const REASONS: Record<string, string> = {
  true: 'a certificate over the true set needs the rows that the model was trained on; `ellice verify` checks it',
  full: 'a certificate over all parameters of a network is to first order only; `ellice verify` checks it',
  isotropic: 'a certificate over all parameters of a network is to first order only; `ellice verify` checks it',
};

class Check {
  readonly failures: string[] = [];
  readonly notChecked: string[] = [];

  need(condition: boolean, message: string): void {
    if (!condition) this.failures.push(message);
  }

  /** To 1e-9 of itself, or 1e-13 of the terms that it is a sum of. */
  same(name: string, stated: unknown, own: number, size: number): void {
    const isNear = typeof stated === 'number' && Math.abs(stated - own) <= Math.max(1e-9 * Math.abs(own), 1e-13 * size);
    this.need(isNear, `${name} is stated as ${String(stated)}, but is ${own}`);
  }

  sameVector(name: string, stated: unknown, own: number[], relative: number): void {
    if (!Array.isArray(stated) || stated.length !== own.length) {
      this.failures.push(`${name} must have ${own.length} numbers`);
      return;
    }
    const largest = Math.max(...own.map(Math.abs));
    const at = own.findIndex((value, i) => !(Math.abs((stated[i] as number) - value) <= Math.max(relative * Math.abs(value), 1e-12 * largest)));
    this.need(at < 0, `${name}[${at}] is stated as ${String(stated[at])}, but is ${own[at]}`);
  }
}

/** The margin that rounding needs, as issuers keep it, less what they keep beyond our own rounding. */
function reaches(judgement: Judgement, threshold: number): boolean {
  const size = judgement.size + judgement.penalty + Math.abs(threshold);
  return judgement.robustLogit >= threshold + 1e-14 * size;
}

function checkPart(check: Check, where: string, stated: Record<string, unknown>, own: Judgement, threshold: number): void {
  const size = own.size + own.penalty;
  check.same(`${where}logit`, stated.logit, own.logit, size);
  check.same(`${where}robust_logit`, stated.robust_logit, own.robustLogit, size);
  check.sameVector(`${where}worst_model`, stated.worst_model, own.worstModel, 1e-9);
  check.need(reaches(own, threshold), `${where}robust logit ${own.robustLogit} is below the threshold ${threshold}`);
}

/** The numbers in the claim's sentence. */
function checkClaim(check: Check, certificate: Certificate): void {
  const { claim, epsilon, threshold, damping, target } = certificate;
  if (typeof claim !== 'string' || claim === '') {
    check.failures.push('there is no claim');
    return;
  }
  const numbers = (pattern: RegExp): number[] => [...claim.matchAll(pattern)].map((match) => Number(match[1]));
  const sizes = numbers(/(?:≤|within) (-?\d\S*?) (?:gives|of the optimum)/gu);
  check.need(sizes.length > 0 && sizes.every((value) => value === epsilon), 'the claim speaks of another ε');
  check.need(numbers(/at least (-?\d\S*?)(?:,| than)/gu).every((value) => value === threshold), 'the claim speaks of another threshold');
  check.need(numbers(/damping (\d\S*) stands/gu).every((value) => value === damping), 'the claim speaks of another damping');
  const isPlainLead = target !== undefined && !/larger by at least /u.test(claim);
  check.need(!isPlainLead || threshold === 0, 'the claim speaks of no margin');
  if (target === undefined) check.need(/a logit of at least /u.test(claim), 'the claim does not say which logit is reached');
  else check.need(claim.includes(`gives class ${target} `), 'the claim speaks of another class');
}

function checkMembers(check: Check, certificate: Certificate, others: Model[]): void {
  const members = certificate.members ?? [];
  check.need(members.length > 0, 'an ensemble must have members');
  for (const member of members) {
    const model = others.find((one) => one.sha256 === member.model_sha256);
    if (model === undefined) {
      check.notChecked.push(`the model ${member.model_sha256.slice(0, 12)}… of the ensemble is not here`);
      continue;
    }
    const own = new Ellipsoid(model, certificate.epsilon, certificate.damping ?? null).judgeRow(certificate.point);
    checkPart(check, 'member: ', member, own, certificate.threshold);
    if (model.deployed !== null) check.notChecked.push(`what the deployed parameters of the model ${member.model_sha256.slice(0, 12)}… say`);
  }
}

/** Who decides elsewhere must accept the row, too, whatever rounding does there. */
function checkDeployed(check: Check, certificate: Certificate, model: Model, encoded: number[]): void {
  if (model.deployed === null) return;
  const { logit, rounding } = decide(model, model.deployed, encoded);
  const own = 1e-13 * Math.abs(certificate.threshold) + 1e-15 * Math.abs(logit);
  check.need(logit >= certificate.threshold - own, `the deployed model gives ${logit}, below the threshold ${certificate.threshold}`);
  check.need(rounding <= model.deployed.margin * (1 + 1e-9),
    `rounding may change the deployed model's score by ${rounding}, and its margin is ${model.deployed.margin}`);
}

function checkClasses(check: Check, certificate: Certificate, set: Ellipsoid, encoded: number[]): [number, number] {
  const { classes } = set.model;
  const target = classes.indexOf(certificate.target ?? '');
  const acceptable = (certificate.acceptable ?? [certificate.target ?? '']).map((name) => classes.indexOf(name));
  check.need(target >= 0, `${String(certificate.target)} is no class of this model`);
  check.need(acceptable.every((k) => k >= 0) && acceptable.includes(target), 'the acceptable classes are not those of this model, or the target is not among them');
  if (check.failures.length > 0) return [NaN, NaN];
  const lead = leadOf(set, encoded, target, acceptable);
  const stated = certificate.rivals ?? [];
  check.need(stated.length === lead.rivals.length, `there must be ${lead.rivals.length} rivals`);
  for (const { rival, judgement } of lead.rivals) {
    const part = stated.find((one) => one.class === classes[rival]);
    if (part === undefined) check.failures.push(`the rival ${classes[rival]} is missing`);
    else checkPart(check, `rival ${classes[rival]}: `, part as unknown as Record<string, unknown>, judgement, certificate.threshold);
  }
  const size = Math.max(...lead.rivals.map(({ judgement }) => judgement.size + judgement.penalty));
  check.same('logit', certificate.logit, lead.logit, size);
  check.same('robust_logit', certificate.robust_logit, lead.robustLogit, size);
  return [lead.logit, lead.robustLogit];
}

function checkForm(check: Check, certificate: Certificate, model: Model): void {
  check.need(certificate.format === 'ellice.certificate' && certificate.version === 1, 'this is no certificate of version 1');
  check.need(certificate.model_sha256 === model.sha256, `it speaks of the model ${certificate.model_sha256}, not of this one, ${model.sha256}`);
  check.need(Number.isFinite(certificate.epsilon) && certificate.epsilon >= 0, `ε = ${certificate.epsilon} must be a number ≥ 0`);
  check.need(Number.isFinite(certificate.threshold), 'there is no threshold');
  check.need(certificate.damping === undefined || certificate.damping > 0, `damping = ${certificate.damping} must be > 0`);
  check.need(SETS_CHECKED.includes(certificate.set) || certificate.set in REASONS, `there is no set called ${certificate.set}`);
  check.need((certificate.set === 'ensemble') === (certificate.members !== undefined), 'members belong to ensembles');
}

function compute(check: Check, model: Model, certificate: Certificate, others: Model[]): [number, number] {
  const encoded = encode(model, certificate.point);
  check.need(Object.keys(certificate.point).length === model.features.length, 'the point has other features than the model');
  check.sameVector('encoded', certificate.encoded, encoded, 1e-15);
  const set = new Ellipsoid(model, certificate.epsilon, certificate.damping ?? null);
  if (model.kind === 'softmax') return checkClasses(check, certificate, set, encoded);
  const own = set.judgeEncoded(encoded);
  checkPart(check, '', certificate as unknown as Record<string, unknown>, own, certificate.threshold);
  checkDeployed(check, certificate, model, encoded);
  if (certificate.set === 'ensemble') checkMembers(check, certificate, others);
  return [own.logit, own.robustLogit];
}

export function verifyCertificate(model: Model, certificate: Certificate, others: Model[] = []): Verdict {
  const check = new Check();
  let logit: number | null = null, robustLogit: number | null = null;
  try {
    checkForm(check, certificate, model);
    if (check.failures.length === 0) {
      if (model.beyond !== null) {
        check.notChecked.push(`this page does not know ${model.beyond}; \`ellice verify\` does`);
      } else if (SETS_CHECKED.includes(certificate.set)) {
        checkClaim(check, certificate);
        [logit, robustLogit] = compute(check, model, certificate, others);
      } else {
        check.notChecked.push(REASONS[certificate.set]!);
      }
    }
  } catch (error) {
    check.failures.push(error instanceof Error ? error.message : String(error));
  }
  const holds = check.failures.length > 0 ? false : check.notChecked.length > 0 ? null : true;
  return { holds, failures: check.failures, notChecked: check.notChecked, logit, robustLogit };
}
