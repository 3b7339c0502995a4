import { expect, it } from "vitest";
import { PartitionTimer } from "../../src/engine/duties/partition-timer.ts";
import type { PartitionRunner } from "../../src/engine/partition/partition-runner.ts";
import type { QueuePosition } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const quiet = { random: () => 0, onPass: () => {}, onErrand: async () => "done" as const };

it("what is due anew while a pass goes on is seen to, although the pass has seen to it before", async () => {
	const clock = new VirtualClock();
	let line: QueuePosition[] = [{ key: "ex_1", score: clock.now() }];
	const ticked: string[] = [];
	// Between two looks of this engine another one grants what was just made eligible; nobody is told of that.
	const afterTick: Record<string, QueuePosition[]> = {
		"ex_1 1": [
			{ key: "ex_1", score: clock.now() + 1 },
			{ key: "ex_2", score: clock.now() + 1 },
		],
		"ex_1 2": [{ key: "ex_2", score: clock.now() + 1 }],
		"ex_2 1": [],
	};
	const runner = {
		time: { known: true, now: () => clock.now() + ticked.length },
		writableSince: 0,
		ask: async () => ({ time: clock.now(), entries: line }),
		run: async ({ key }: { key: string }) => {
			ticked.push(key);
			line = afterTick[`${key} ${ticked.filter((other) => other === key).length}`] ?? [];
			return { ok: true, duty: "grant_expiry" };
		},
	} as unknown as PartitionRunner;
	const timer = new PartitionTimer({
		runner,
		clock,
		shared: true,
		...quiet,
		onFailure: ({ error }) => expect.fail(String(error)),
	});
	timer.look();
	await clock.advance(10);
	expect(ticked.sort()).toEqual(["ex_1", "ex_1", "ex_2"]);
	await timer.close();
});

it("a timer that was set before the store's clock was put on is set anew when that is heard", async () => {
	const clock = new VirtualClock();
	let putOn = 0;
	const looks: number[] = [];
	const storeNow = () => clock.now() + putOn;
	const runner = {
		time: { known: true, now: storeNow },
		ask: async () => {
			looks.push(storeNow());
			return { time: storeNow(), entries: [] };
		},
	} as unknown as PartitionRunner;
	const onFailure = ({ error }: { error: unknown }) => expect.fail(String(error));
	const timer = new PartitionTimer({ runner, clock, shared: true, ...quiet, onFailure });
	const due = clock.now() + 3000;
	timer.expect(due);
	putOn = 2000;
	timer.expect(due + 100);
	await clock.advance(1010);
	expect(looks).toHaveLength(1);
	expect(looks[0]).toBeLessThan(due + 20);
	await timer.close();
});

it.each([false, true])(
	"what was taken to be due a moment too early is seen to when it is (shared: %s)",
	async (shared) => {
		const clock = new VirtualClock();
		const due = clock.now() + 100;
		const ticked: number[] = [];
		let line: QueuePosition[] = [
			{ key: "ex_1", score: due },
			{ key: "ex_2", score: due + 60_000 },
		];
		const runner = {
			// Taken to be later than it is.
			time: { known: true, now: () => clock.now() + 5 },
			writableSince: 0,
			ask: async () => ({ time: clock.now(), entries: line }),
			run: async () => {
				ticked.push(clock.now());
				if (clock.now() < due) return { ok: true, early: due };
				line = line.slice(1);
				return { ok: true, duty: "delayed_promoter" };
			},
		} as unknown as PartitionRunner;
		const onFailure = ({ error }: { error: unknown }) => expect.fail(String(error));
		const timer = new PartitionTimer({ runner, clock, shared, ...quiet, onFailure });
		timer.expect(due);
		await clock.advance(200);
		expect([ticked[0], ticked.at(-1)]).toEqual([due - 5, due]);
		await timer.close();
	},
);
