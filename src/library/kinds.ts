import type { SubmitOptions } from "./submission.ts";

/**
 * What a map of kinds may look like: each kind with its `input` and its `result`, as an interface or as a type. A kind whose
 * input is optional, or left out, may be submitted without one.
 */
// biome-ignore lint/suspicious/noExplicitAny: inputs and results are the program's own business
export type Kinds<K> = { [N in keyof K]: { input?: any; result?: any } };

/** The kinds of a program that names none: everything passes. */
// biome-ignore lint/suspicious/noExplicitAny: without types of their own, inputs and results are the caller's business
export type AnyKinds = Record<string, { input: any; result: any }>;

/** The input of a kind; `undefined` when it names none. */
export type InputOf<T> = T extends unknown ? ("input" extends keyof T ? T["input"] : undefined) : never;

/** The result of a kind; `unknown` when it names none. */
export type ResultOf<T> = T extends unknown ? ("result" extends keyof T ? T["result"] : unknown) : never;

/** What follows a kind when it is submitted: its input, which only a kind that can do without may leave out, and options. */
export type SubmitArguments<T, O = SubmitOptions> =
	undefined extends InputOf<T> ? [input?: InputOf<T>, options?: O] : [input: InputOf<T>, options?: O];

type InputField<T> =
	undefined extends InputOf<T>
		? {
				/** What the handler is given. */
				input?: InputOf<T>;
			}
		: {
				/** What the handler is given. */
				input: InputOf<T>;
			};

/** One of many that are submitted together: a kind, the input of that very kind, and the options of `submit`. */
export type SubmitItem<K extends Kinds<K>, N extends keyof K & string = keyof K & string> = {
	[P in N]: SubmitOptions & {
		/** Which handler runs it. */
		kind: P;
	} & InputField<K[P]>;
}[N];
