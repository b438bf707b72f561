import { mount } from 'svelte';
import App from './App.svelte';
import Waiting from './Waiting.svelte';
import { fromFile } from './data.ts';
import { Service } from './service.ts';
import { PageState } from './state.svelte.ts';
import './style.css';

function show(state: PageState): void {
  document.title = state.data.page.title;
  state.restore(location.hash);
  document.getElementById('app')!.replaceChildren();
  mount(App, { target: document.getElementById('app')!, props: { page: state } });
}

const inlined = fromFile();
if (inlined) {
  show(new PageState(inlined, null));
} else {
  const service = new Service();
  mount(Waiting, { target: document.getElementById('app')!, props: { service, onready: (data) => show(new PageState(data, service)) } });
}
