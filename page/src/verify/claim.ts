// The sentence of a certificate over ellipsoids, written again from the facts (formats.md, «The claim»).
import type { Certificate } from './certificate.ts';
import type { Model } from './model.ts';

/** The shortest decimal that reads back identically, in the layout of Python's repr, whole numbers without ".0". */
export function numberText(value: number): string {
  const [digits, power] = value.toExponential().split('e') as [string, string];
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 16) return String(value);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function givenText(model: Model, { threshold, target, acceptable }: Certificate): string {
  if (target === undefined) return `this point a logit of at least ${numberText(threshold)}`;
  const lead = threshold === 0 ? 'is larger' : `is larger by at least ${numberText(threshold)}`;
  const begin = `class ${target} a score at this point that ${lead} than that of`;
  const wanted = model.classes.filter((name) => (acceptable ?? [target]).includes(name));
  if (wanted.length === 1) return `${begin} every other class, so that it is the class predicted`;
  const rivals = model.classes.filter((name) => !wanted.includes(name));
  return `${begin} each of the classes ${rivals.join(', ')}, so that the class predicted is one of ${wanted.join(', ')}`;
}

/** Which models these are, beside the ellipsoid. */
function setText(models: Model[], { epsilon, damping }: Certificate, noun: string, above: string | null): string {
  const e = numberText(epsilon);
  if (damping !== undefined)
    return ` In H the damping ${numberText(damping)} stands in place of the objective's own l2: these are not the ${noun}s whose training objective is within ${e} of the optimum.`;
  if (above !== null)
    return `${above}: these are not the ${noun}s whose training objective is within ${e} of the optimum, but an ellipsoid around θ̂ by the objective's curvature; ${noun}s outside it are not covered.`;
  if (models.every((one) => one.lossKind === 'squared' && one.shift === 0))
    return ` These are exactly the ${noun}s whose training objective is within ${e} of the optimum.`;
  return ` To second order these are the ${noun}s whose training objective is within ${e} of the optimum; ${noun}s outside this ellipsoid are not covered.`;
}

function deployedText({ deployed }: Model, whose: string): string {
  if (deployed === null) return '';
  const { excess, threshold, unit } = deployed;
  return ` The deployed parameters${whose}, ${numberText(excess)} above the minimum, give it this logit as well; their own threshold is ${numberText(threshold)}, and the difference bounds what ${unit === 2 ** -24 ? 'float32' : 'float64'} arithmetic loses of their score.`;
}

/** `members`: the other models of an ensemble, in the order of the certificate. */
export function claimText(model: Model, certificate: Certificate, members: Model[]): string {
  const models = [model, ...members], isEnsemble = certificate.set === 'ensemble';
  const hasHidden = models.some((one) => one.hidden.length > 0), noun = hasHidden ? 'head' : 'model';
  const shift = Math.max(...models.map((one) => one.shift)), decrement = Math.max(...models.map((one) => one.headDecrement));
  const above = decrement > 0.01 * certificate.epsilon && decrement > 1e-15
    ? ` ${isEnsemble ? 'θ̂ of one of the models' : 'θ̂ itself'} is ${numberText(decrement)} above the minimum of the objective` : null;
  return (isEnsemble ? `For each of the ${models.length} models, this one and those under members: every ` : 'Every ') +
    `${noun} θ with ½(θ−θ̂)ᵀH(θ−θ̂) ≤ ${numberText(certificate.epsilon)} gives ${givenText(model, certificate)}, where θ̂ and H are the parameters and the Hessian${hasHidden ? ' of the head' : ''} in ${isEnsemble ? "that model's" : 'the model'} file${hasHidden ? ', and the hidden layers are fixed' : ''}.` +
    setText(models, certificate, noun, above) +
    (hasHidden ? ' Nor is any change of the hidden layers.' : '') +
    (shift > 0 ? ` H contains a diagonal shift of ${numberText(shift)} that is not part of the objective: without it the set of near-optimal models is unbounded.` : '') +
    (above !== null && certificate.damping !== undefined ? `${above}.` : '') +
    deployedText(model, '') + members.map((one, k) => deployedText(one, ` of model ${k + 2}`)).join('');
}
