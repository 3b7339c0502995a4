import type { Tx } from "../../src/kernel/tx.ts";

/** Transactions that lie to a rule, or keep from the store what it does: for planting bugs. */

/** What a rule reads, as it should not be; undefined leaves it as it is. */
export type Misreading = (key: string, record: object | undefined, tx: Tx) => { as: object | undefined } | undefined;

export function reading(tx: Tx, misread: Misreading): Tx {
	const get = (key: string) => {
		const record = tx.get<object>(key);
		const wrong = misread(key, record, tx);
		return wrong ? wrong.as : record;
	};
	return bent(tx, { get, getReadable: get });
}

/** What a rule writes, as it should not be; null keeps it from being written. */
export type Miswriting = (key: string, record: object, tx: Tx) => object | null;

export const writing = (tx: Tx, miswrite: Miswriting): Tx =>
	bent(tx, {
		put: (key: string, record: object) => {
			const wrong = miswrite(key, record, tx);
			if (wrong) tx.put(key, wrong);
		},
	});

/** A transaction in which some things go another way. */
export const bent = (tx: Tx, ways: object): Tx =>
	new Proxy(tx, {
		get(target, name) {
			const member = (Reflect.get(ways, name) ?? Reflect.get(target, name)) as unknown;
			return typeof member === "function" ? member.bind(target) : member;
		},
	});

export const isExecution = (key: string): boolean => key.startsWith("ex_") && !key.includes("/");
