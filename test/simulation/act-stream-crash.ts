import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Unit } from "../../src/store/port.ts";
import type { Calm } from "./closing-acts.ts";
import { insist, MOST_MS } from "./insist.ts";
import { frameName, someFrame } from "./stream-frames.ts";
import { StreamReaders } from "./stream-readers.ts";
import { type Point, strikeAt } from "./strike-at.ts";

const hasEnded = (unit: Unit): boolean =>
	unit.put.some(
		({ key, doc }) =>
			key.startsWith("ex_") &&
			!key.includes("/") &&
			(kernel.decode(key, doc) as ExecutionRecord).attempt?.endedAt !== undefined,
	);

const POINTS: Record<string, Point> = {
	"append and reply": (unit) => unit.blobs.some(({ key }) => /\/f\d+\./.test(key)),
	"close and reply": hasEnded,
};

/** An engine dies, or stands still, in the middle of a stream: who writes says it again, who reads goes on elsewhere. */
export async function streamCrash(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, network, cluster } = stage;
	const tenant = stage.someTenant();
	const [id = ""] = await calm.submit(tenant, 1, {});
	const fence = await calm.claimOne(tenant, id);
	const readers = new StreamReaders(stage, []);
	for (let n = 0; n < 2 * cluster.nodes.length; n++) readers.begin(id, 0, n % 2 === 0);
	const where = random.pick(Object.keys(POINTS));
	const struck = strikeAt(stage, POINTS[where] as Point, where === "append and reply" ? 3 : 0);
	let seq = 0;
	for (let n = 0; n < 4; n++) {
		const frames = Array.from({ length: random.integer(1, 4) }, () => {
			seq += 1;
			return { ...someFrame(random), type: frameName({ id, fence }, seq, true), seq };
		});
		const { frameCount } = await insist(stage, (backend) => backend.leases.appendFrames(id, { fence, frames }));
		calm.require(frameCount === seq, `an engine was lost between ${where}: ${seq} were sent, ${frameCount} are kept`);
	}
	await insist(stage, (backend) => backend.leases.complete(id, { fence }));
	network.onApplied = undefined;
	await stage.until(() => readers.areAllDone, MOST_MS);
	readers.checkEnded();
	await stage.world.runUntil(Math.max(stage.world.time, stage.awakeFrom + 500));
	if (struck.isStruck) stage.note("engines lost in a stream");
}
