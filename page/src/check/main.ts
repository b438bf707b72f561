import { mount } from 'svelte';
import Check from './Check.svelte';
import '../page/style.css';

mount(Check, { target: document.getElementById('app')! });
