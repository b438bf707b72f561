// The verifier: written from docs/reference/formats.md alone, it shares no code with the program.
export * from './algebra.ts';
export * from './bins.ts';
export * from './certificate.ts';
export * from './claim.ts';
export * from './constraints.ts';
export * from './deployed.ts';
export * from './encoder.ts';
export * from './json.ts';
export * from './lifted.ts';
export * from './model.ts';
export * from './recourse.ts';
export * from './request.ts';
export * from './robust.ts';
export * from './rules.ts';
export * from './sha256.ts';
