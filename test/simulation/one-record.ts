import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Tx } from "../../src/kernel/tx.ts";

/** A transaction in which one execution is all there is: for asking a rule what it would answer in a given state. */
export function oneRecord(id: string, record: ExecutionRecord | undefined): Tx {
	const nothing = () => {};
	const get = (key: string) => (key === id ? record : undefined);
	return {
		isHere: () => true,
		get: get as Tx["get"],
		getReadable: get as Tx["getReadable"],
		getFresh: get as Tx["getFresh"],
		isUnreadable: () => false,
		expect: nothing,
		expectFirst: nothing,
		put: nothing,
		remove: nothing,
		first: () => [],
		all: () => [],
		emit: nothing,
		forget: nothing,
		putBlob: nothing,
		removeBlob: nothing,
	};
}
