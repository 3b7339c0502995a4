import type { Outcome } from "../outcome.ts";
import type { Tx } from "../tx.ts";
import { type CreateCommand, type CreateOutcome, create } from "./create.ts";

/** Creates of one partition that stand or fall together in the store, though each is accepted or refused by itself. */
export interface CreateManyCommand {
	op: "createMany";
	items: CreateCommand[];
}

export type CreateManyOutcome = Outcome<{ items: CreateOutcome[] }>;

export function createMany(tx: Tx, { items }: CreateManyCommand, now: number): CreateManyOutcome {
	// A refused create has written nothing yet, so the others' writes can stay.
	return { ok: true, items: items.map((item) => create(tx, item, now)) };
}
