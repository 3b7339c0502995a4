import { expect, it } from "vitest";
import { DueMinder } from "../../src/engine/due-minder.ts";
import type { PartitionRunner } from "../../src/engine/partition-runner.ts";
import type { QueuePosition } from "../../src/store/port.ts";
import { VirtualClock } from "../virtual-clock.ts";

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
	const minder = new DueMinder({
		runner,
		clock,
		shared: true,
		random: () => 0,
		onPass: () => {},
		onErrand: async () => {},
		onFailure: (_, error) => expect.fail(String(error)),
	});
	minder.look();
	await clock.advance(10);
	expect(ticked.sort()).toEqual(["ex_1", "ex_1", "ex_2"]);
	await minder.close();
});
