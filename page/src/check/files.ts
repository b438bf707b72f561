// What was dropped: models, certificates, recourse files; each said for itself.
import { STATUS } from '../page/words.ts';
import { verifyCertificate, type Certificate, type Verdict } from '../verify/certificate.ts';
import { member, parse, toValue } from '../verify/json.ts';
import { readModel, type Model } from '../verify/model.ts';
import { verifyRecord, wrongHashes, type Asked, type Record_ } from '../verify/recourse.ts';

export interface Dropped {
  name: string;
  text: string;
}

export interface Line {
  title: string;
  verdict: Verdict;
  set: string;
  epsilon: number;
  threshold: number;
  remarks: string[];
}

export interface Report {
  models: { name: string; model: Model }[];
  lines: Line[];
  problems: string[];
}

/** What is true, and means less than one might think. */
function remarksOn(model: Model | undefined, epsilon: number, threshold: number, damping?: number): string[] {
  const remarks: string[] = [];
  if (epsilon === 0) remarks.push('ε is 0: it speaks of today’s model alone.');
  if (model && threshold < model.threshold) remarks.push(`The threshold is below ${model.threshold}, at which the model accepts: it does not say that anybody is accepted.`);
  if (damping !== undefined) remarks.push('It is about a damped set: not all models that are nearly as good.');
  if (model && model.hidden.length > 0) remarks.push('It is about the last layer; the hidden layers are fixed.');
  return remarks;
}

const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function ofCertificate(title: string, certificate: Certificate, models: Model[]): Line {
  const model = models.find((one) => one.sha256 === certificate.model_sha256);
  const verdict: Verdict = model
    ? verifyCertificate(model, certificate, models)
    : { holds: false, failures: [`it speaks of the model ${String(certificate.model_sha256)}, which is none of the files here`], notChecked: [], logit: null, robustLogit: null };
  return { title, verdict, set: certificate.set, epsilon: certificate.epsilon, threshold: certificate.threshold, remarks: remarksOn(model, certificate.epsilon, certificate.threshold, certificate.damping) };
}

function ofRecourse(name: string, file: Dropped, models: Model[], report: Report): void {
  const tree = parse(file.text), value = toValue(tree) as Asked & { results: Record_[] };
  const model = models.find((one) => one.sha256 === value.model_sha256);
  if (!model) {
    report.problems.push(`${name}: it speaks of the model ${value.model_sha256}, which is none of the files here`);
    return;
  }
  for (const wrong of wrongHashes(tree)) report.problems.push(`${name}: ${wrong}`);
  for (const record of value.results) {
    report.lines.push({
      title: `${name}, ${record.id ?? `person ${record.query_index + 1}`}, plan ${record.plan + 1} (${STATUS[record.status]?.text.toLowerCase() ?? record.status})`,
      verdict: verifyRecord(model, value, record, models),
      set: value.set,
      epsilon: record.certificate?.epsilon ?? value.epsilon.value,
      threshold: value.options.threshold,
      remarks: record.certificate ? remarksOn(model, record.certificate.epsilon, record.certificate.threshold, record.certificate.damping) : [],
    });
  }
}

export function check(files: Dropped[]): Report {
  const report: Report = { models: [], lines: [], problems: [] };
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
      const value = toValue(parse(file.text)) as { format?: string };
      if (value.format === 'ellice.certificate') report.lines.push(ofCertificate(file.name, value as Certificate, models));
      else if (value.format === 'ellice.recourse') ofRecourse(file.name, file, models, report);
      else report.problems.push(`${file.name}: this is no model, certificate or recourse file`);
    } catch (error) {
      report.problems.push(`${file.name}: ${text(error)}`);
    }
  }
  return report;
}
