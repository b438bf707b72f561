// The one state of the page: who is shown, what is tried, what is asked for. Everything else is derived from it.
import { Ellipsoid, leadOf } from '../verify/robust.ts';
import { encode } from '../verify/encoder.ts';
import { violations, type Options } from '../verify/constraints.ts';
import { decide } from '../verify/deployed.ts';
import type { Verdict } from '../verify/certificate.ts';
import { verifyRecord } from '../verify/recourse.ts';
import { verifyRequest } from '../verify/request.ts';
import type { Feature, Row, Value } from '../verify/model.ts';
import { averagePerson, type Answer, type Data, type Head, type Histogram, type Person } from './data.ts';
import { Outdated, type Service } from './service.ts';
import { whyNoRule } from '../verify/rules.ts';
import { isWish, readWishes, stretch, withWishes, type Wish, type Wishes } from './wishes.ts';
import { percent, sigmoid } from './words.ts';

export interface Standing {
  deciding: number; // what decides: the deployed parameters where there are some, else today's model
  logit: number;
  robust: number;
  accepted: boolean;
  robustly: boolean;
  radius: number;
}

interface Tried {
  row: Row;
  wishes: Wishes;
  rules: string[];
  epsilon: number;
}

export const VIEWS = ['person', 'everyone', 'about', 'letters'] as const;

/** The same for options that the same plans answer. */
const keyOf = ({ lock, bounds, direction, rules, weights }: Options): string => JSON.stringify([lock, bounds, direction, rules, weights]);

const copyOf = (row: Row): Row => Object.assign(Object.create(null) as Row, row);

export class PageState {
  data: Data;
  service: Service | null;
  view = $state<(typeof VIEWS)[number]>('person');
  chosen = $state(0);
  plan = $state(0);
  row = $state.raw<Row>({});
  wishes = $state.raw<Wishes>({});
  rules = $state.raw<string[]>([]); // beside those of the schema
  epsilon = $state(0);
  bookmarks = $state.raw<number[]>([]);
  people = $state.raw<Person[]>([]);
  busy = $state(false);
  problem = $state('');
  wantsToken = $state(false);
  isOutdated = $state(false); // the service has another model by now
  isWhatIf = $state(false); // plans for other values than the person's are on screen
  private stops = false;
  private past = $state.raw<Tried[]>([]);

  constructor(data: Data, service: Service | null) {
    this.data = data;
    this.service = service;
    this.people = data.people;
    this.epsilon = data.head.epsilon.value;
    if (this.people.length > 0) this.choose(0);
    else if (service !== null) this.addPerson();
    else this.row = copyOf(averagePerson(data));
  }

  get model() {
    return this.data.model;
  }
  /** What was asked for the person on screen. */
  get head(): Head {
    return this.headOf(this.person);
  }
  headOf(person: Person | undefined): Head {
    return person?.head ?? this.data.head;
  }
  /** Who was chosen, with their own values. */
  get base(): Person | undefined {
    return this.people[this.chosen];
  }
  /** Who is on screen: that person, or the same with other values. */
  get person(): Person | undefined {
    return (this.isWhatIf ? this.base?.whatIf : undefined) ?? this.base;
  }
  /** Those of the file or the service, without those typed here. */
  get known(): Person[] {
    return this.people.filter((one) => !one.isNew);
  }
  get answer(): Answer | undefined {
    return this.person?.plans[this.plan];
  }
  get query(): Row {
    if (this.person?.isNew && this.answer?.status === 'not_asked') return this.row;
    return this.person?.plans[0]?.query ?? averagePerson(this.data);
  }
  /** The answer that is wished for, in one piece. */
  get wanted(): string {
    const { column, favourable } = this.model.target;
    return `${column}\u00a0=\u00a0${favourable}`;
  }
  get threshold(): number {
    return this.head.options.threshold;
  }
  get hasProbabilities(): boolean {
    return this.model.lossKind === 'logistic' && this.model.kind !== 'softmax';
  }
  /** Whether the set of models is one whose worst member this page can compute: of an ensemble it has but one model. */
  get canJudge(): boolean {
    return this.head.set === 'last-layer' && this.model.beyond === null;
  }
  /** For whom a certificate or a verdict speaks at this ε, and no more. */
  promise(epsilon: number): string {
    const { set, options } = this.head;
    const within = percent(epsilon / this.model.objective, 2);
    if (epsilon === 0) return 'today’s model alone';
    if (set === 'full' || set === 'isotropic') return 'every network within ε of today’s, to first order only';
    if (options.damping !== undefined) return 'every model of the damped ellipsoid of size ε, which are not all models that are nearly as good';
    const which = this.model.hidden.length > 0 ? 'model that differs from today’s in the last layer only and' : 'model that';
    if (set === 'ensemble') return `every ${which} is within ${within} of the best, around each model of the ensemble`;
    return set === 'true'
      ? `every ${which} is at most ${within} worse than the best in training`
      : `every ${which} is at most ${within} worse than the best in training, to second order`;
  }

  readonly set = $derived.by(() => new Ellipsoid(this.data.model, this.epsilon, this.head.options.damping ?? null));
  readonly now = $derived.by(() => this.standing(this.query));
  readonly tried = $derived.by(() => this.standing(this.row));
  readonly isChanged = $derived.by(() => this.model.features.some((f) => this.row[f.name] !== this.query[f.name]));
  readonly broken = $derived.by(() => {
    try {
      return violations(this.model, this.query, this.row, this.options, this.person?.index ?? 0);
    } catch {
      return [];
    }
  });
  readonly curve = $derived.by(() => this.person?.curve ?? (this.isWhatIf ? undefined : this.data.page.curves.find((curve) => curve.query_index === this.person?.index)));
  /** The plan on screen, checked by this page. */
  readonly verdict = $derived.by(() => (this.person && this.answer ? this.verdictOn(this.person, this.answer) : null));

  /** A plan, and what was asked, checked by this page; nothing where there is no certificate. */
  verdictOn(person: Person, answer: Answer): Verdict | null {
    if (!answer.certificate) return null;
    const verdict = verifyRecord(this.model, this.headOf(person), answer);
    const failures = [...verifyRequest(this.model, this.headOf(person)).failures, ...verdict.failures];
    return { ...verdict, failures, holds: failures.length > 0 ? false : verdict.holds };
  }
  /** Whether today's model gives a person the wanted answer as they are. */
  acceptsToday(person: Person): boolean {
    return this.standing(person.plans[0]!.query)?.accepted === true;
  }

  /** Of the training rows; a feature may be called "constructor". */
  histogram(name: string): Histogram | undefined {
    const all = this.data.page.histograms;
    return all && Object.hasOwn(all, name) ? all[name] : undefined;
  }

  standing(row: Row): Standing | null {
    try {
      const encoded = encode(this.model, row);
      if (this.model.kind === 'softmax') return this.lead(encoded);
      const judged = this.set.judgeEncoded(encoded);
      const { deployed } = this.model;
      return this.finish(judged.logit, judged.robustLogit, judged.radius(this.threshold), deployed ? decide(this.model, deployed, encoded).logit : undefined);
    } catch {
      return null;
    }
  }

  private lead(encoded: number[]): Standing {
    const { classes } = this.model;
    const wanted = (this.head.options.target ?? [this.model.target.favourable]).map((name) => classes.indexOf(name));
    const leads = wanted.map((target) => leadOf(this.set, encoded, target, wanted));
    const best = leads.reduce((a, b) => (b.robustLogit > a.robustLogit ? b : a));
    return this.finish(best.logit, best.robustLogit, best.radius(this.threshold));
  }

  private finish(logit: number, robust: number, radius: number, deciding = logit): Standing {
    // A hair more than the threshold, for rounding; certificates keep a larger margin.
    const enough = this.threshold + 1e-13 * (1 + Math.abs(logit));
    const accepted = deciding >= this.threshold;
    return { deciding, logit, robust, radius, accepted, robustly: accepted && robust >= enough };
  }

  probability(logit: number): number {
    return sigmoid(logit);
  }

  /** What a run is asked for: the options of the file or the service itself, and the switches on the form. */
  get options(): Options {
    return withWishes(this.data.head.options, this.model, this.wishes, this.rules);
  }

  get hasWishes(): boolean {
    return this.rules.length > 0 || Object.values(this.wishes).some(isWish);
  }

  /** Whether the service might find other plans than those on screen. */
  get isStale(): boolean {
    if (this.service === null || this.person?.wished === undefined) return false;
    const asked = this.head.epsilon.value;
    return this.person.wished !== keyOf(this.options) || Math.abs(this.epsilon - asked) > 1e-9 * asked || this.isOther;
  }
  /** Whether somebody else stands in the form than the one for whom plans were found, or who tries one of them. */
  private get isOther(): boolean {
    const rows = [this.query, ...(this.person?.plans ?? []).flatMap((plan) => (plan.counterfactual ? [plan.counterfactual] : []))];
    return !rows.some((row) => this.model.features.every((f) => row[f.name] === this.row[f.name]));
  }

  /** Whatever was typed: the nearest place that there is. */
  choose(place: number): void {
    this.chosen = Math.max(0, Math.min(this.people.length - 1, Math.round(place) || 0));
    this.show(false);
  }

  /** The person, or the same with other values. */
  show(isWhatIf: boolean): void {
    this.isWhatIf = isWhatIf;
    this.plan = this.person?.shown ?? 0;
    this.past = [];
    this.row = copyOf(this.person?.plans[0]?.query ?? averagePerson(this.data));
    this.wishes = {};
    this.rules = [];
    this.epsilon = this.head.epsilon.value;
    this.problem = '';
  }

  /** Somebody whose values are typed here. */
  addPerson(): void {
    const index = 1 + this.people.reduce((most, one) => Math.max(most, one.index), -1), count = this.people.filter((one) => one.isNew).length;
    const plans = [{ query_index: index, plan: 0, status: 'not_asked', query: averagePerson(this.data) } as Answer];
    this.people = [...this.people, { index, name: count > 0 ? `New applicant ${count + 1}` : 'New applicant', plans, shown: 0, isNew: true }];
    this.choose(this.people.length - 1);
  }

  choosePlan(plan: number): void {
    this.plan = plan;
  }

  private remember(): void {
    this.past = [...this.past.slice(-99), { row: this.row, wishes: this.wishes, rules: this.rules, epsilon: this.epsilon }];
  }

  /** `goesOn`: the same drag of a slider, one step of undo. */
  setValue(feature: Feature, value: Value, goesOn = false): void {
    if (!goesOn) this.remember();
    const row = copyOf(this.row);
    row[feature.name] = value;
    this.row = row;
  }
  setRow(row: Row): void {
    this.remember();
    this.row = copyOf(row);
  }
  setWish(name: string, wish: Wish): void {
    this.remember();
    this.wishes = { ...this.wishes, [name]: { ...this.wishes[name], ...wish } };
  }
  setRules(rules: string[]): void {
    this.remember();
    this.rules = rules;
  }
  setEpsilon(epsilon: number, goesOn = false): void {
    if (!goesOn) this.remember();
    this.epsilon = epsilon;
  }
  get canUndo(): boolean {
    return this.past.length > 0;
  }
  undo(): void {
    const last = this.past.at(-1);
    if (!last) return;
    this.past = this.past.slice(0, -1);
    Object.assign(this, last);
  }

  toggleBookmark(index: number): void {
    this.bookmarks = this.bookmarks.includes(index) ? this.bookmarks.filter((one) => one !== index) : [...this.bookmarks, index];
  }

  /** Difficulty makes another order of the plans that are there; the service searches with it. */
  effort(plan: Answer): number {
    let sum = 0;
    for (const change of plan.changes ?? []) {
      const feature = this.model.features.find((f) => f.name === change.feature);
      if (!feature) continue;
      const size = typeof change.from === 'number' && typeof change.to === 'number'
        ? Math.abs(change.to - change.from) / feature.spread : 1;
      sum += size * feature.weight * stretch(this.wishes[feature.name]);
    }
    return sum;
  }

  /** Everything that can be shared, without anybody's data: places, switches, not values. */
  fragment(): string {
    const parts = new URLSearchParams();
    if (this.service?.name) parts.set('model', this.service.name);
    if (this.view !== 'person') parts.set('view', this.view);
    if (this.person && !this.person.isNew) parts.set('person', String(this.person.index));
    if (this.plan !== (this.person?.shown ?? 0)) parts.set('plan', String(this.plan));
    if (this.epsilon !== this.head.epsilon.value) parts.set('epsilon', String(this.epsilon));
    if (this.hasWishes) parts.set('wishes', JSON.stringify(this.wishes));
    for (const rule of this.rules) parts.append('rule', rule);
    if (this.bookmarks.length > 0) parts.set('marked', this.bookmarks.join(','));
    return parts.toString();
  }

  restore(fragment: string): void {
    const parts = new URLSearchParams(fragment.replace(/^#/, ''));
    const person = parts.get('person');
    if (person !== null) {
      const place = this.people.findIndex((one) => one.index === Number(person));
      if (place >= 0) this.choose(place);
    }
    const view = parts.get('view');
    this.view = VIEWS.find((one) => one === view) ?? 'person';
    const plan = Number(parts.get('plan') ?? NaN);
    if (Number.isInteger(plan) && this.person?.plans[plan]) this.plan = plan;
    const epsilon = Number(parts.get('epsilon') ?? NaN);
    if (Number.isFinite(epsilon) && epsilon >= 0) this.epsilon = epsilon;
    this.rules = parts.getAll('rule').filter((rule) => whyNoRule(this.model, rule) === null);
    this.bookmarks = (parts.get('marked') ?? '').split(',').filter(Boolean).map(Number).filter(Number.isInteger);
    this.wishes = readWishes(this.model, parts.get('wishes'));
  }

  /** ε as it is asked for: of a model that decides elsewhere it is counted from there (formats.md, `deployed`). */
  private asked(epsilon: number): number {
    return Math.max(0, epsilon - (this.model.deployed?.excess ?? 0));
  }

  private asking(people: Row[], options: Options, epsilon: number) {
    const { lock, bounds, direction, rules, weights, threshold, horizon } = options as Options & { threshold?: number };
    return { epsilon: this.asked(epsilon), options: { lock, bounds, direction, rules, weights, threshold, horizon }, people };
  }

  private async working(work: (service: Service) => Promise<void>): Promise<void> {
    if (!this.service || this.busy) return;
    this.busy = true;
    this.problem = '';
    try {
      await work(this.service);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.wantsToken = (error as { status?: number }).status === 401;
      this.isOutdated = error instanceof Outdated;
    } finally {
      this.busy = false;
    }
  }

  /** Asks the service for plans for the row on screen. Values that are not the person's own are a «what if» beside them.
   * Who looks at somebody else meanwhile is not disturbed. */
  search(): Promise<void> {
    return this.working(async (service) => {
      const place = this.chosen, base = this.base!, from = this.row;
      const isOwn = base.isNew === true || this.model.features.every((f) => from[f.name] === base.plans[0]!.query[f.name]);
      const options = this.options, asking = this.asking([from], options, this.epsilon), wished = keyOf(options);
      const { head, people: [found] } = await service.explain(asking);
      const { index, name, isNew } = base;
      const person: Person = { ...found!, index, isNew, head, wished, name: isOwn ? name : `${name}, with other values` };
      this.put(place, person, isOwn);
      if (this.chosen === place) {
        this.isWhatIf = !isOwn;
        this.epsilon = head.epsilon.value;
        this.plan = person.shown;
        this.row = copyOf(person.plans[0]!.query);
      }
      const levels = [0, 0.25, 0.5, 1, 1.5, 2, 3].map((times) => this.asked(times * head.epsilon.value));
      this.put(place, { ...person, curve: await service.frontier(asking, levels) }, isOwn);
    });
  }
  private put(place: number, person: Person, isOwn: boolean): void {
    this.people = this.people.map((one, i) => (i !== place ? one : isOwn ? { ...person, whatIf: one.whatIf } : { ...one, whatIf: person }));
  }

  /** Asks it for everybody who has no plans yet, some at a time, at the usual ε whatever the handle says. */
  searchAll(): Promise<void> {
    return this.working(async (service) => {
      const options = withWishes(this.data.head.options, this.model, {}, []);
      this.stops = false;
      while (!this.stops) {
        const places = this.people.flatMap((one, i) => (one.plans[0]!.status === 'not_asked' && !one.isNew ? [i] : [])).slice(0, BLOCK);
        if (places.length === 0) break;
        const { head, people } = await service.explain(this.asking(places.map((i) => this.people[i]!.plans[0]!.query), options, this.data.head.epsilon.value));
        const next = [...this.people];
        for (const found of people) {
          const place = places[found.index]!, { index, name, whatIf } = next[place]!;
          next[place] = { ...found, index, name, head, whatIf, wished: keyOf(options) };
        }
        this.people = next;
        if (places.includes(this.chosen) && !this.isWhatIf) [this.plan, this.epsilon] = [this.person!.shown, head.epsilon.value];
      }
    });
  }
  stop(): void {
    this.stops = true;
  }
}

// People asked about at once: enough to keep the service busy, few enough to see that it works.
const BLOCK = 50;
