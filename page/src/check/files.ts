// What was dropped: models, certificates, recourse files; each said for itself.
import { STATUS } from '../page/words.ts';
import { verifyCertificate, type Certificate, type Verdict } from '../verify/certificate.ts';
import { member, parse, toValue } from '../verify/json.ts';
import { readModel, type Model } from '../verify/model.ts';
import { verifyRecord, wrongHashes, type Record_ } from '../verify/recourse.ts';
import { verifyPeople, verifyRequest, type Asked, type Told } from '../verify/request.ts';

export interface Dropped {
  name: string;
  text: string;
}

export interface Line {
  title: string;
  model: Model | undefined;
  certificate: Certificate | undefined;
  verdict: Verdict;
  /** What is true, and means less than one might think. */
  remarks: string[];
}

export interface Report {
  models: { name: string; model: Model }[];
  lines: Line[];
  problems: string[];
  beside: string[]; // not checked here, of files as a whole
}

function remarksOn(model: Model | undefined, { epsilon, threshold, damping, target, acceptable }: Certificate): string[] {
  if (model === undefined) return [];
  const remarks: string[] = [];
  const { favourable } = model.target;
  if (epsilon === 0) remarks.push('ε is 0: it speaks of today’s model alone.');
  if (threshold < model.threshold) remarks.push(`The threshold is below ${model.threshold}, at which the model accepts: it does not say that anybody is accepted.`);
  if (target !== undefined && target !== favourable) remarks.push(`The class that the model file calls favourable is ${favourable}.`);
  if (acceptable !== undefined) remarks.push(`Acceptable were ${acceptable.join(', ')}.`);
  if (damping !== undefined) remarks.push('It is about a damped set: not all models that are nearly as good.');
  if (model.hidden.length > 0) remarks.push('It is about the last layer; the hidden layers are fixed.');
  return remarks;
}

const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const isAbsent = (sha256: unknown): string => `it speaks of the model ${String(sha256)}, which is none of the files here`;

function ofCertificate(title: string, certificate: Certificate, models: Model[], report: Report): void {
  const model = models.find((one) => one.sha256 === certificate.model_sha256);
  if (model === undefined) report.problems.push(`${title}: ${isAbsent(certificate.model_sha256)}`);
  else report.lines.push({ title, model, certificate, verdict: verifyCertificate(model, certificate, models), remarks: remarksOn(model, certificate) });
}

function ofRecourse(name: string, file: Dropped, models: Model[], report: Report): void {
  const tree = parse(file.text), value = toValue(tree) as Asked & Told & { version: number; results: Record_[] };
  const model = models.find((one) => one.sha256 === value.model_sha256);
  if (model === undefined) {
    report.problems.push(`${name}: ${isAbsent(value.model_sha256)}`);
    return;
  }
  const asked = value.version === 1 && Array.isArray(value.results) ? verifyRequest(model, value) : { failures: ['this is no recourse file of version 1'], beside: [] };
  const people = asked.failures.length === 0 ? verifyPeople(value) : { failures: [], beside: [] };
  for (const wrong of [...asked.failures, ...people.failures, ...wrongHashes(tree)]) report.problems.push(`${name}: ${wrong}`);
  report.beside.push(...asked.beside, ...people.beside);
  if (asked.failures.length > 0) return; // what was asked is not known, so no answer can be held against it
  for (const record of value.results) {
    const verdict = verifyRecord(model, value, record, models), certificate = record.certificate ?? undefined;
    report.lines.push({
      title: `${name}, ${record.id ?? `person ${record.query_index + 1}`}, ${certificate ? `plan ${record.plan + 1}` : `“${STATUS[record.status]?.text ?? record.status}”`}`,
      model, certificate, verdict, remarks: certificate ? remarksOn(model, certificate) : [],
    });
  }
}

export function check(files: Dropped[]): Report {
  const report: Report = { models: [], lines: [], problems: [], beside: [] };
  const others: Dropped[] = [];
  for (const file of files) {
    try {
      const format = member(parse(file.text), 'format');
      if (format?.kind === 'string' && format.value === 'ellice.model') report.models.push({ name: file.name, model: readModel(file.text) });
      else others.push(file);
    } catch (error) {
      report.problems.push(`${file.name}: ${text(error)}`);
    }
  }
  const models = report.models.map(({ model }) => model);
  for (const file of others) {
    try {
      const value = toValue(parse(file.text)) as { format?: string } | null;
      if (value?.format === 'ellice.certificate') ofCertificate(file.name, value as Certificate, models, report);
      else if (value?.format === 'ellice.recourse') ofRecourse(file.name, file, models, report);
      else report.problems.push(`${file.name}: this is no model, certificate or recourse file`);
    } catch (error) {
      report.problems.push(`${file.name}: ${text(error)}`);
    }
  }
  return report;
}
