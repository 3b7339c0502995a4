import type { Calm } from "./closing-acts.ts";
import type { Node } from "./cluster.ts";
import { asCommand, type CountOutcome, type TestCommand } from "./test-rules.ts";

const WRITERS = 3;
const SCANS = 3;
/** Some losses to nearer engines, and a turn. */
const SCAN_MS = 5000;

/** A scan that must be complete is made although every engine writes its guard as fast as it can. */
export async function hotGuard(calm: Calm): Promise<void> {
	const { stage } = calm;
	const name = `hot ${stage.count()}`;
	const run = (node: Node, op: TestCommand["op"]) => {
		const command: TestCommand = { op, name, token: `t${stage.count()}` };
		return stage.cluster.call(node, 0, (backend) => backend.engine.runner(0).run(asCommand(command)));
	};
	let writing = true;
	const write = (node: Node): void => {
		const op = stage.random.chance(0.05) ? "joinGroup" : "touchGroup";
		if (writing) stage.settle(run(node, op), () => write(node));
	};
	for (const node of stage.cluster.nodes) for (let n = 0; n < WRITERS; n++) write(node);
	await stage.world.runUntil(stage.world.time + 20);
	for (let n = 0; n < SCANS; n++) {
		const command = asCommand({ op: "countGroup", name, token: "" });
		const counted = await stage.answer(
			async (backend) => (await backend.engine.runner(0).run(command)) as CountOutcome,
			stage.random.pick(stage.cluster.nodes),
			SCAN_MS,
		);
		calm.require(
			counted.ok && counted.counted === counted.members,
			`a scan beside writers of its guard was not complete: ${JSON.stringify(counted)}`,
		);
	}
	writing = false;
	stage.note("scans beside writers of their guard");
}
