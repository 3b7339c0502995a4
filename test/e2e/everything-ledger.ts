/** What the programs `everything-*.mjs` said was acknowledged to them, gathered from their output. */
export interface Ledger {
	/** Kinds of executions by id; the last node of a flow is a `flow`. */
	submitted: Map<string, string>;
	/** What answered an execution that waited for people. */
	answered: Map<string, string>;
	/** Recorded steps: `<execution> <step>` and every value a run was given for it. */
	kept: Map<string, Set<string>>;
	/** Frames that were acknowledged, by execution. */
	framed: Map<string, string[]>;
	/** Frames that a tail gave, by execution. */
	tailed: Map<string, string[]>;
}

export function ledgerOf(outputs: readonly string[]): Ledger {
	const ledger: Ledger = {
		submitted: new Map(),
		answered: new Map(),
		kept: new Map(),
		framed: new Map(),
		tailed: new Map(),
	};
	for (const line of outputs.flatMap(wholeLines)) take(ledger, line.split(" "));
	return ledger;
}

/** A program that was killed may have said the last line by half. */
const wholeLines = (output: string): string[] => output.split("\n").slice(0, -1);

function take(ledger: Ledger, [what, first = "", second = "", third = ""]: string[]): void {
	if (what === "ack") ledger.submitted.set(second, first);
	else if (what === "flow") ledger.submitted.set(second, "flow");
	else if (what === "answered") ledger.answered.set(first, second);
	else if (what === "kept") setOf(ledger.kept, `${first} ${second}`).add(third);
	else if (what === "framed") listOf(ledger.framed, first).push(...second.split(","));
	else if (what === "tailed") ledger.tailed.set(first, second.split(","));
}

function setOf(sets: Map<string, Set<string>>, key: string): Set<string> {
	const set = sets.get(key) ?? new Set();
	sets.set(key, set);
	return set;
}

function listOf(lists: Map<string, string[]>, key: string): string[] {
	const list = lists.get(key) ?? [];
	lists.set(key, list);
	return list;
}
