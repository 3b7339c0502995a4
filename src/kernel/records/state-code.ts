import {
	ATTEMPT_STATES,
	BLOCKING_REASONS,
	ELIGIBILITY_STATES,
	LIFECYCLE_PHASES,
	OWNERSHIP_STATES,
	type StateFields,
	TERMINAL_OUTCOMES,
} from "../state.ts";

/**
 * The six fields of a state as six characters: spelt out they would take a quarter of a document, which is written
 * several times in an execution's life.
 */

const FIELDS: readonly [field: keyof StateFields, values: readonly string[]][] = [
	["lifecyclePhase", LIFECYCLE_PHASES],
	["ownershipState", OWNERSHIP_STATES],
	["eligibilityState", ELIGIBILITY_STATES],
	["blockingReason", BLOCKING_REASONS],
	["terminalOutcome", TERMINAL_OUTCOMES],
	["attemptState", ATTEMPT_STATES],
];

const RADIX = 36;
/** Rules write some dozens; a store gone bad could hold any number. */
const MOST_STATES = 1000;

const placesIn = (values: readonly string[]): Record<string, number> =>
	Object.fromEntries(values.map((value, place) => [value, place]));

const [phases, owners, eligibilities, reasons, outcomes, attempts] = FIELDS.map(([, values]) => placesIn(values)) as [
	Record<string, number>,
	Record<string, number>,
	Record<string, number>,
	Record<string, number>,
	Record<string, number>,
	Record<string, number>,
];

/** Codes made before, by the number their places make: rules write few states, and each of them often. */
const codes = new Map<number, string>();

export function stateCode(state: StateFields): string {
	const number =
		((((phases[state.lifecyclePhase] as number) * RADIX + (owners[state.ownershipState] as number)) * RADIX +
			(eligibilities[state.eligibilityState] as number)) *
			RADIX +
			(reasons[state.blockingReason] as number)) *
			RADIX *
			RADIX +
		(outcomes[state.terminalOutcome] as number) * RADIX +
		(attempts[state.attemptState] as number);
	let code = codes.get(number);
	if (code === undefined) codes.set(number, (code = number.toString(RADIX).padStart(FIELDS.length, "0")));
	return code;
}

/** The state of each code that was read before. */
const states = new Map<string, StateFields>();

/** A character that stands for nothing here is given as it is; whoever reads the record finds it unknown. */
export function stateOf(code: string): Readonly<StateFields> {
	const known = states.get(code);
	if (known) return known;
	const state: Record<string, string> = {};
	FIELDS.forEach(([field, values], n) => {
		const digit = code.charAt(n);
		state[field] = values[Number.parseInt(digit, RADIX)] ?? digit;
	});
	if (states.size < MOST_STATES) states.set(code, state as unknown as StateFields);
	return state as unknown as StateFields;
}
