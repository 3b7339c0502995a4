import { eventLines } from "../event-lines.ts";
import { flowLines } from "../flow-lines.ts";
import type { Line } from "../report.ts";
import { stepsLines } from "../steps-lines.ts";
import { streamsLines } from "../streams/lines.ts";
import { valkeyStreams } from "../streams/streams-bench.ts";
import { valkeySuspensionLines } from "../suspension-lines.ts";
import { valkeyDispatchLines } from "./dispatch-lines.ts";
import { valkeyEnginesLines, valkeyHotLine } from "./engines-line.ts";
import { valkeyGrowthLine, valkeyMemoryLines } from "./growth-lines.ts";
import { valkeyGuardedLines } from "./guarded-lines.ts";
import { valkeyIdleLine } from "./idle-line.ts";
import { valkeyLifecycleLines } from "./lifecycle-line.ts";
import { openOn, type ValkeyBench } from "./valkey-bench.ts";

export const VALKEY_SCENARIOS = {
	"valkey-lifecycle": valkeyLifecycleLines,
	"valkey-engines": async (bench: ValkeyBench): Promise<Line[]> => [
		...(await valkeyEnginesLines(bench)),
		await valkeyHotLine(bench),
	],
	"valkey-dispatch": valkeyDispatchLines,
	"valkey-growth": async (bench: ValkeyBench): Promise<Line[]> => [await valkeyGrowthLine(bench)],
	"valkey-memory": valkeyMemoryLines,
	"valkey-events": async ({ server, partitions, rounds, progress }: ValkeyBench): Promise<Line[]> => {
		const { ff, close } = await openOn(server, partitions);
		const lines = await eventLines({ ff, store: "valkey", partitions, rounds, progress });
		await close();
		return lines;
	},
	"valkey-guarded": valkeyGuardedLines,
	"valkey-suspension": valkeySuspensionLines,
	"valkey-steps": ({ server, partitions, rounds, progress }: ValkeyBench): Promise<Line[]> =>
		stepsLines({ store: "valkey", partitions, rounds, open: () => openOn(server, partitions), progress }),
	"valkey-flows": ({ server, partitions, rounds, progress }: ValkeyBench): Promise<Line[]> =>
		flowLines({ store: "valkey", partitions, rounds, open: (count) => openOn(server, count), progress }),
	"valkey-streams": (bench: ValkeyBench): Promise<Line[]> => streamsLines(valkeyStreams(bench)),
	"valkey-idle": async (bench: ValkeyBench): Promise<Line[]> => [await valkeyIdleLine(bench)],
};
export type ValkeyScenario = keyof typeof VALKEY_SCENARIOS;
