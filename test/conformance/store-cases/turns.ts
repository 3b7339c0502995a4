import { expect } from "vitest";
import { TURN_MS } from "../../../src/store/port.ts";
import { type Case, check, put, remove, type Trial, unit } from "../trial.ts";

const A = { engine: "engine-a" };
const B = { engine: "engine-b" };

/** Engine A loses on "hot" and takes a turn; returns the version it stands at. */
async function takeTurn(trial: Trial, at = trial.clock.now): Promise<number> {
	const version = await trial.apply([put("hot", "0")], { ...B, at });
	const { results } = await trial.commit([{ ...put("hot", "A"), wantsTurn: true }], { ...A, at });
	expect(results).toEqual([{ ok: false, current: [{ key: "hot", version, doc: "0" }] }]);
	return version;
}

export function turnCases(test: Case): void {
	test("while an engine has its turn on a record, others may not write it", async (trial) => {
		const version = await takeTurn(trial);
		const { results, time } = await trial.commit([put("hot", "B", version)], B);
		const current = [{ key: "hot", version, doc: "0" }];
		expect(results).toEqual([{ ok: false, current, turnUntil: time + TURN_MS }]);
		expect((await trial.commit([remove("hot", version)], B)).results).toMatchObject([
			{ ok: false, turnUntil: time + TURN_MS },
		]);
		expect((await trial.record("hot")).version).toBe(version);
	});

	test("a turn ends when it is used", async (trial) => {
		const version = await takeTurn(trial);
		const next = await trial.apply([put("hot", "A", version)], A);
		await trial.apply([put("hot", "B", next)], B);
		expect((await trial.record("hot")).doc).toBe("B");
	});

	test("a turn that is not used ends by itself", async (trial) => {
		const version = await takeTurn(trial);
		trial.clock.now += TURN_MS - 1;
		expect((await trial.commit([put("hot", "B", version)], B)).results).toMatchObject([{ ok: false }]);
		trial.clock.now += 1;
		await trial.apply([put("hot", "B", version)], B);
	});

	test("a turn does not last longer because the clock was set back", async (trial) => {
		const version = await takeTurn(trial);
		const at = trial.clock.now;
		trial.clock.now -= 60_000;
		await trial.apply([put("hot", "B", version)], { ...B, at });
	});

	test("a turn taken after the clock was set back ends by itself, although time stands still", async (trial) => {
		const at = trial.clock.now;
		await trial.apply([put("other", "")]);
		trial.clock.now -= 60_000;
		const version = await takeTurn(trial, at);
		const early = await trial.commit([put("hot", "B", version)], { ...B, at });
		expect(early).toMatchObject({ time: at, results: [{ ok: false, turnUntil: at + TURN_MS }] });
		trial.clock.now += TURN_MS;
		await trial.apply([put("hot", "B", version)], { ...B, at });
	});

	test("a unit that lost without asking gets no turn", async (trial) => {
		const version = await trial.apply([put("hot", "0")], B);
		await trial.commit([put("hot", "A")], A);
		await trial.apply([put("hot", "B", version)], B);
	});

	test("a unit that asks for a turn but wins takes none", async (trial) => {
		const version = await trial.apply([{ ...put("hot", "A"), wantsTurn: true }], A);
		await trial.apply([put("hot", "B", version)], B);
	});

	test("a turn does not keep others from reading the record or writing others", async (trial) => {
		const version = await takeTurn(trial);
		await trial.apply([check(["hot", version])], B);
		await trial.apply([unit({ expected: [["hot", version]], put: [{ key: "other", doc: "B" }] })], B);
	});

	test("a turn covers every record its unit lost on, also those it only read", async (trial) => {
		const version = await trial.apply([put("read", "0"), put("written", "0")], B);
		const { results } = await trial.commit(
			[
				unit({
					expected: [
						["read", 0],
						["written", 0],
						["fine", 0],
					],
					put: [{ key: "written", doc: "A" }],
					wantsTurn: true,
				}),
			],
			A,
		);
		expect(results).toMatchObject([{ ok: false }]);
		expect((await trial.commit([put("read", "B", version)], B)).results).toMatchObject([
			{ turnUntil: expect.any(Number) },
		]);
		expect((await trial.commit([put("written", "B", version)], B)).results).toMatchObject([
			{ turnUntil: expect.any(Number) },
		]);
		await trial.apply([put("fine", "B")], B);
	});

	test("a turn is not taken away by another that wants one", async (trial) => {
		const version = await takeTurn(trial);
		const wanting = { ...put("hot", "B", version - 1), wantsTurn: true };
		expect((await trial.commit([wanting], B)).results).toMatchObject([{ ok: false, turnUntil: expect.any(Number) }]);
		await trial.apply([put("hot", "A", version)], A);
	});

	test("a turn is on one partition's record", async (trial) => {
		await takeTurn(trial);
		for (let partition = 0; partition < trial.home; partition++) {
			await trial.apply([put("hot", "B")], { ...B, partition });
		}
	});

	test("every engine gets its turn in the end", async (trial) => {
		const engines = ["engine-a", "engine-b", "engine-c"];
		const wins = new Map(engines.map((engine) => [engine, 0]));
		const losses = new Map(engines.map((engine) => [engine, 0]));
		let worst = 0;
		for (let round = 0; round < 60; round++) {
			const { version } = await trial.record("hot");
			await Promise.all(
				engines.map(async (engine) => {
					const lostSoFar = losses.get(engine) ?? 0;
					const wanting = { ...put("hot", engine, version), wantsTurn: lostSoFar >= 3 };
					const { results } = await trial.commit([wanting], { engine });
					const won = results[0]?.ok === true;
					losses.set(engine, won ? 0 : lostSoFar + 1);
					worst = Math.max(worst, lostSoFar);
					if (won) wins.set(engine, (wins.get(engine) ?? 0) + 1);
				}),
			);
			trial.clock.now += 10;
		}
		for (const engine of engines) expect(wins.get(engine)).toBeGreaterThan(5);
		expect(worst).toBeLessThan(15);
	});
}
