// The service that served this page: same origin, a token where it wants one, no cookies.
import type { Model, Row } from '../verify/model.ts';
import { byPerson, readRecourse, readShown, type Answer, type Curve, type Data, type Head, type Histogram, type Person } from './data.ts';

export class ServiceError extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

/** Answers are about another model than the page is. */
export class Outdated extends ServiceError {
  constructor() {
    super('The service has another model by now. What is on this page is about the old one.', 0);
  }
}

export interface Asking {
  epsilon: number;
  options: Record<string, unknown>;
  people: Row[];
}

// More people than this are for files.
const MOST_PEOPLE = 10_000;

/** What the model recommends, or a hundredth of its objective. */
function usualEpsilon(model: Model): { value: number; rule: string } {
  const advice = (model.recommended as Record<string, { epsilon?: number; rule?: string }> | null)?.['last-layer'];
  const value = advice?.epsilon ?? 0.01 * model.objective;
  return { value: value + (model.deployed?.excess ?? 0), rule: advice?.rule ?? '1%' };
}

export class Service {
  token = '';
  name = '';
  private sha256 = ''; // of the model that the page shows

  private async ask(path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let response: Response;
    try {
      response = await fetch(path, { method: body === undefined ? 'GET' : 'POST', headers, body: body === undefined ? null : JSON.stringify(body), cache: 'no-store' });
    } catch {
      throw new ServiceError('The service does not answer. It may have been stopped; what is on the page stays.', 0);
    }
    if (response.ok) return response;
    const text = await response.text();
    let message = text;
    try {
      const said = JSON.parse(text) as { error?: string | { message?: string; field?: string }; message?: string };
      message = typeof said.error === 'string' ? said.error : (said.error?.message ?? said.message ?? text);
    } catch {
      // plain text
    }
    if (response.status === 401) message = 'This service wants a token.';
    throw new ServiceError(message.slice(0, 400) || `status ${response.status}`, response.status);
  }

  private path(route: string, query: Record<string, string> = {}): string {
    const parts = new URLSearchParams({ ...(this.name ? { model: this.name } : {}), ...query }).toString();
    return route + (parts ? `?${parts}` : '');
  }

  /** Names of the models that it has. */
  async models(): Promise<string[]> {
    const said = (await (await this.ask('api/models')).json()) as { models: { name: string }[] };
    return said.models.map(({ name }) => name);
  }

  async load(): Promise<Data> {
    const about = (await (await this.ask(this.path('api/model'))).json()) as {
      name: string; people: number; histograms: Record<string, Histogram> | null;
    };
    const modelText = await (await this.ask(this.path('api/model/file'))).text();
    const model = readShown(modelText);
    this.sha256 = model.sha256;
    const given = about.people > 0
      ? ((await (await this.ask(this.path('api/people', { count: String(MOST_PEOPLE) }))).json()) as { total: number; people: Row[]; ids: (string | null)[] })
      : { total: 0, people: [], ids: [] };
    const people = given.people.map((query, index) => ({
      index,
      name: given.ids[index] ?? `Person ${index + 1}`,
      plans: [{ query_index: index, plan: 0, status: 'not_asked', query } as Answer],
      shown: 0,
    }));
    return {
      model, modelText, people, total: given.total, recourseText: null,
      head: { model_sha256: model.sha256, epsilon: usualEpsilon(model), set: 'last-layer', cost: 'l2', options: { threshold: model.threshold } },
      page: { title: `Recourse: ${about.name}`, program: 'ellice', asked: [], options: [], histograms: about.histograms, curves: [] },
    };
  }

  /** It may have read its files again since the page was loaded. */
  private expect(sha256: string): void {
    if (sha256 !== this.sha256) throw new Outdated();
  }

  /** Counted from 0 in the order in which they are asked about. */
  async explain(asking: Asking): Promise<{ head: Head; people: Person[] }> {
    const { head, records } = readRecourse(await (await this.ask(this.path('api/explain'), { ...asking, display: true })).text());
    this.expect(head.model_sha256);
    return { head, people: byPerson(records, 0.2, true) };
  }

  async frontier(asking: Asking, epsilons: number[]): Promise<Curve> {
    const said = (await (await this.ask(this.path('api/frontier'), { ...asking, epsilons })).json()) as { model_sha256: string; results: Curve[] };
    this.expect(said.model_sha256);
    return said.results[0]!;
  }
}
