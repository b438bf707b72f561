// The service that served this page: same origin, a token where it wants one, no cookies.
import { readModel, type Model, type Row } from '../verify/model.ts';
import { byPerson, isTradeOff, readRecourse, type Answer, type Curve, type Data, type Head, type Histogram } from './data.ts';

export class ServiceError extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

export interface Asking {
  epsilon: number | string;
  options: Record<string, unknown>;
  people: Row[];
  display?: boolean;
}

/** What the model recommends, or a hundredth of its objective. */
function usualEpsilon(model: Model): { value: number; rule: string } {
  const advice = (model.recommended as Record<string, { epsilon?: number; rule?: string }> | null)?.['last-layer'];
  return { value: advice?.epsilon ?? 0.01 * model.objective, rule: advice?.rule ?? '1%' };
}

export class Service {
  token = '';
  name = '';

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

  private path(route: string): string {
    return route + (this.name ? `?model=${encodeURIComponent(this.name)}` : '');
  }

  async load(): Promise<Data> {
    const about = (await (await this.ask(this.path('api/model'))).json()) as {
      name: string; people: number; histograms: Record<string, Histogram> | null;
    };
    const modelText = await (await this.ask(this.path('api/model/file'))).text();
    const model = readModel(modelText);
    const given = about.people > 0
      ? ((await (await this.ask(this.path('api/people'))).json()) as { people: Row[]; ids: (string | null)[] })
      : { people: [], ids: [] };
    const people = given.people.map((query, index) => ({
      index,
      name: given.ids[index] ?? `Person ${index + 1}`,
      plans: [{ query_index: index, plan: 0, status: 'not_asked', query } as Answer],
      shown: 0,
    }));
    return {
      model, modelText, people, recourseText: null,
      head: { model_sha256: model.sha256, epsilon: usualEpsilon(model), set: 'last-layer', cost: 'l2', options: { threshold: model.threshold } },
      page: { title: `Recourse: ${about.name}`, program: 'ellice', asked: [], options: [], histograms: about.histograms, curves: [] },
    };
  }

  async explain(asking: Asking): Promise<{ head: Head; plans: Answer[]; shown: number }> {
    const body = { epsilon: asking.epsilon, options: asking.options, people: asking.people, display: asking.display ?? true };
    const { head, records } = readRecourse(await (await this.ask(this.path('api/explain'), body)).text());
    const person = byPerson(records, 0.2, isTradeOff(head) || asking.display !== false)[0]!;
    return { head, plans: person.plans, shown: person.shown };
  }

  async frontier(asking: Asking, epsilons: number[]): Promise<Curve> {
    const body = { epsilon: asking.epsilon, options: asking.options, people: asking.people, epsilons };
    const said = (await (await this.ask(this.path('api/frontier'), body)).json()) as { results: Curve[] };
    return said.results[0]!;
  }
}
