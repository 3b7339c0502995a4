import { afterEach, describe, expect, test } from "vitest";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type StoreRow, stores, TestClock } from "../conformance/stores.ts";
import { contents, Traffic } from "./random-traffic.ts";

const MOVES = Number(process.env.FF_HISTORY_MOVES ?? 5000);
/** Long enough for histories to grow, short enough that a failing one can be read. */
const PER_HISTORY = 250;
const FIRST_SEED = Number(process.env.FF_SEED ?? 1);

const leave: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const each of leave.splice(0)) await each();
});

/** Lives through one history on both stores; says what was asked last when they differ. */
async function live(row: StoreRow, seed: number): Promise<void> {
	const clock = new TestClock();
	const opened = await row.open(clock);
	leave.push(opened.discard);
	const model = new MemoryStore(row.partitions, clock.read);
	const traffic = new Traffic(seed, model, clock);
	for (let n = 0; n < PER_HISTORY; n++) {
		const move = await traffic.next();
		const about = `FF_SEED=${seed}, move ${n}: ${move.told}`;
		expect(await move.ask(opened.store), about).toEqual(await move.ask(model));
	}
	for (let partition = 0; partition < row.partitions; partition++)
		expect(await contents(opened.store, partition), `FF_SEED=${seed}`).toEqual(await contents(model, partition));
	await leave.pop()?.();
}

describe.each(stores.filter(({ name }) => name.startsWith("valkey")))("random traffic on $name", (row) => {
	test(`${MOVES} moves are answered as by the memory store`, { timeout: 60_000 + MOVES * 10 }, async () => {
		for (let seed = FIRST_SEED; (seed - FIRST_SEED) * PER_HISTORY < MOVES; seed++) await live(row, seed);
	});
});
