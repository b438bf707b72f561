// A certificate against the model file: everything is computed again, and the verdict rests on our own numbers.
import { claimText } from './claim.ts';
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
  /** True: the certificate is proved, and nothing is wrong. False: something is wrong. Null: nothing is wrong, but this
   * page cannot prove the certificate, or there is none. */
  holds: boolean | null;
  failures: string[];
  /** Why it is not proved here. */
  notChecked: string[];
  /** What an answer states beside its certificate and is not checked here. */
  beside: string[];
  logit: number | null;
  robustLogit: number | null; // the smallest of all models
  radius: number | null; // the largest ε for which the row is robust
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

  /** An unknown key is an error: nobody here knows what it says. */
  knows(object: object, keys: string[], where: string): void {
    for (const key of Object.keys(object)) this.need(keys.includes(key), `${where}: ${key} is no key that is known here`);
  }

  /** To 1e-9 of itself, or 1e-13 of the terms that it is a sum of. */
  same(name: string, stated: unknown, own: number, size: number): void {
    const isNear = typeof stated === 'number' && Number.isFinite(own) && Math.abs(stated - own) <= Math.max(1e-9 * Math.abs(own), 1e-13 * size);
    this.need(isNear, `${name} is stated as ${String(stated)}, but is ${own}`);
  }

  sameVector(name: string, stated: unknown, own: number[], relative: number): void {
    if (!Array.isArray(stated) || stated.length !== own.length) {
      this.failures.push(`${name} must have ${own.length} numbers`);
      return;
    }
    const largest = Math.max(...own.map(Math.abs));
    const at = own.findIndex((value, i) => !(typeof stated[i] === 'number' && Math.abs(stated[i] - value) <= Math.max(relative * Math.abs(value), 1e-12 * largest)));
    this.need(at < 0, `${name}[${at}] is stated as ${String(stated[at])}, but is ${own[at]}`);
  }
}

/** The margin that rounding needs, as issuers keep it, less what they keep beyond our own rounding. */
function reaches(judgement: Judgement, threshold: number): boolean {
  const size = judgement.size + judgement.penalty + Math.abs(threshold);
  return judgement.robustLogit >= threshold + 1e-14 * size;
}

function checkPart(check: Check, where: string, stated: { logit: number; robust_logit: number; worst_model?: number[] }, own: Judgement, threshold: number): void {
  const size = own.size + own.penalty;
  check.same(`${where}logit`, stated.logit, own.logit, size);
  check.same(`${where}robust_logit`, stated.robust_logit, own.robustLogit, size);
  check.sameVector(`${where}worst_model`, stated.worst_model, own.worstModel, 1e-9);
  check.need(reaches(own, threshold), `${where}robust logit ${own.robustLogit} is below the threshold ${threshold}`);
}

/** What was found of a row: by one model, or the least of several. */
interface Found {
  logit: number;
  robustLogit: number;
  radius: number;
}

/** The other models of an ensemble; nothing where one of them is not here. */
function checkMembers(check: Check, certificate: Certificate, others: Model[], found: Found): Model[] | null {
  const stated = certificate.members ?? [], present: Model[] = [];
  const hashes = [certificate.model_sha256, ...stated.map((one) => one.model_sha256)];
  check.need(stated.length > 0, 'an ensemble must have members');
  check.need(new Set(hashes).size === hashes.length, 'a model of the ensemble stands there twice');
  for (const member of stated) {
    const name = String(member.model_sha256).slice(0, 12);
    const model = others.find((one) => one.sha256 === member.model_sha256);
    check.knows(member, MEMBER_KEYS, `member ${name}…`);
    if (model === undefined) {
      check.notChecked.push(`the model ${name}… of the ensemble is not here`);
      continue;
    }
    check.need(model.kind !== 'softmax' && !model.hasL1, `the model ${name}… is of a kind that no ensemble has`);
    if (check.failures.length > 0) return null;
    const own = new Ellipsoid(model, certificate.epsilon, certificate.damping ?? null).judgeRow(certificate.point);
    checkPart(check, `member ${name}…: `, member, own, certificate.threshold);
    found.robustLogit = Math.min(found.robustLogit, own.robustLogit);
    found.radius = Math.min(found.radius, own.radius(certificate.threshold));
    if (model.deployed !== null) check.notChecked.push(`what the deployed parameters of the model ${name}… say`);
    present.push(model);
  }
  return present.length === stated.length ? present : null;
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

function checkClasses(check: Check, certificate: Certificate, set: Ellipsoid, encoded: number[]): Found | null {
  const { classes } = set.model;
  const target = classes.indexOf(certificate.target ?? '');
  const acceptable = (certificate.acceptable ?? [certificate.target ?? '']).map((name) => classes.indexOf(name));
  check.need(target >= 0, `${String(certificate.target)} is no class of this model`);
  check.need(acceptable.every((k) => k >= 0) && acceptable.includes(target), 'the acceptable classes are not those of this model, or the target is not among them');
  check.need(new Set(acceptable).size < classes.length, 'every class is acceptable: there is nothing that could be proved');
  check.need(certificate.worst_model === undefined, 'a worst model belongs to each rival');
  if (check.failures.length > 0) return null;
  const lead = leadOf(set, encoded, target, acceptable);
  const stated = certificate.rivals ?? [];
  check.need(stated.length === lead.rivals.length, `there must be ${lead.rivals.length} rivals`);
  for (const { rival, judgement } of lead.rivals) {
    const part = stated.find((one) => one.class === classes[rival]);
    if (part === undefined) {
      check.failures.push(`the rival ${classes[rival]} is missing`);
      continue;
    }
    check.knows(part, ['class', ...PART_KEYS], `rival ${classes[rival]}`);
    checkPart(check, `rival ${classes[rival]}: `, part, judgement, certificate.threshold);
  }
  const size = Math.max(...lead.rivals.map(({ judgement }) => judgement.size + judgement.penalty));
  check.same('logit', certificate.logit, lead.logit, size);
  check.same('robust_logit', certificate.robust_logit, lead.robustLogit, size);
  return { ...lead, radius: lead.radius(certificate.threshold) };
}

const PART_KEYS = ['logit', 'robust_logit', 'worst_model'];
const MEMBER_KEYS = ['model_sha256', ...PART_KEYS];
const OF_CLASSES = ['target', 'acceptable', 'rivals'];
const OF_FIRST_ORDER = ['predicted_logit', 'real_logit'];
const KEYS = ['format', 'version', 'set', 'epsilon', 'threshold', 'damping', 'point', 'encoded', 'members', 'claim', ...MEMBER_KEYS, ...OF_CLASSES, ...OF_FIRST_ORDER];

function checkForm(check: Check, certificate: Certificate, model: Model): void {
  check.need(certificate.format === 'ellice.certificate' && certificate.version === 1, 'this is no certificate of version 1');
  check.knows(certificate, KEYS, 'certificate');
  check.need(certificate.model_sha256 === model.sha256, `it speaks of the model ${certificate.model_sha256}, not of this one, ${model.sha256}`);
  check.need(Number.isFinite(certificate.epsilon) && certificate.epsilon >= 0, `ε = ${certificate.epsilon} must be a number ≥ 0`);
  check.need(Number.isFinite(certificate.threshold), 'there is no threshold');
  check.need(certificate.damping === undefined || certificate.damping > 0, `damping = ${certificate.damping} must be > 0`);
  const isEllipsoid = SETS_CHECKED.includes(certificate.set);
  check.need(isEllipsoid || Object.hasOwn(REASONS, certificate.set), `there is no set called ${certificate.set}`);
  check.need((certificate.set === 'ensemble') === (certificate.members !== undefined), 'members belong to ensembles');
  check.need(model.kind !== 'softmax' || certificate.set === 'last-layer' || certificate.set === 'true', `a model of many classes has no set ${certificate.set}`);
  check.need(!isEllipsoid || !model.hasL1, 'a model with an l1 penalty has the true set only');
  const has = (keys: string[]): boolean => keys.some((key) => Object.hasOwn(certificate, key));
  check.need(model.kind === 'softmax' || !has(OF_CLASSES), 'classes belong to models of many');
  check.need(!isEllipsoid || !has(OF_FIRST_ORDER), 'logits of a real network belong to sets of first order');
  check.need(typeof certificate.claim === 'string' && certificate.claim !== '', 'there is no claim');
}

function compute(check: Check, model: Model, certificate: Certificate, others: Model[]): Found | null {
  const encoded = encode(model, certificate.point);
  check.need(Object.keys(certificate.point).length === model.features.length, 'the point has other features than the model');
  check.sameVector('encoded', certificate.encoded, encoded, 1e-15);
  const set = new Ellipsoid(model, certificate.epsilon, certificate.damping ?? null);
  let found: Found | null, members: Model[] | null = [];
  if (model.kind === 'softmax') found = checkClasses(check, certificate, set, encoded);
  else {
    const own = set.judgeEncoded(encoded);
    checkPart(check, '', certificate, own, certificate.threshold);
    checkDeployed(check, certificate, model, encoded);
    found = { ...own, radius: own.radius(certificate.threshold) };
    if (certificate.set === 'ensemble') members = checkMembers(check, certificate, others, found);
  }
  if (members !== null && check.failures.length === 0)
    check.need(certificate.claim === claimText(model, certificate, members), 'the claim does not say what is proved, to the letter');
  return found;
}

export function verifyCertificate(model: Model, certificate: Certificate, others: Model[] = []): Verdict {
  const check = new Check();
  let found: Found | null = null;
  try {
    checkForm(check, certificate, model);
    if (check.failures.length === 0) {
      if (model.beyond !== null) {
        check.notChecked.push(`this page does not know ${model.beyond}; \`ellice verify\` does`);
      } else if (SETS_CHECKED.includes(certificate.set)) {
        found = compute(check, model, certificate, others);
      } else {
        check.notChecked.push(REASONS[certificate.set]!);
      }
    }
  } catch (error) {
    check.failures.push(error instanceof Error ? error.message : String(error));
  }
  const { failures, notChecked } = check;
  const holds = failures.length > 0 ? false : notChecked.length > 0 ? null : true;
  return { holds, failures, notChecked, beside: [], logit: found?.logit ?? null, robustLogit: found?.robustLogit ?? null, radius: found?.radius ?? null };
}
