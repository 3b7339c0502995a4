import { unitOf } from "../../src/store/port.ts";
import { withLaterFields } from "../later-fields.ts";
import type { Node } from "./cluster.ts";
import type { Stage } from "./stage.ts";
import { asCommand, type TestCommand } from "./test-rules.ts";

/** Those who run the rules that exist only here, and a program of a later version. */
export class JournalWriters {
	readonly #stage: Stage;

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	write(): void {
		const { random, checker } = this.#stage;
		const token = `t${this.#stage.count()}`;
		const group = () => `g${Math.floor(this.#stage.counted / 20)}`;
		switch (random.weighted({ journal: 4, rewrite: 4, reset: 3, join: 6, close: 2, field: 1 })) {
			case "journal":
				return this.#run({ op: "writeJournal", name: "hot", token }, () => checker.checkToken(token));
			case "rewrite":
				return this.#run({ op: "writeJournal", name: "phoenix", token });
			case "reset":
				return this.#run({ op: "resetJournal", name: "phoenix", token });
			case "join":
				return this.#run({ op: "joinGroup", name: group(), token });
			case "close":
				return this.#run({ op: "closeGroup", name: group(), token });
			case "field":
				return this.#addFieldOfLaterVersion();
		}
	}

	#run(command: TestCommand, acknowledged?: () => void, partition = 0): void {
		this.#stage.call(
			(backend) => backend.engine.runner(partition).run(asCommand(command)),
			(heard) => {
				if (heard.kind === "ok" && heard.value.ok) acknowledged?.();
			},
		);
	}

	/** A newer program writes a record with fields this one does not know, in every part of it. */
	#addFieldOfLaterVersion(): void {
		const { random, network, world } = this.#stage;
		const partition = random.pick(network.partitions);
		const ids = [...partition.records.keys()].filter((key) => key.startsWith("ex_"));
		if (ids.length === 0) return;
		const { key, version, doc } = partition.read(random.pick(ids));
		const unit = unitOf({ expected: [[key, version]], put: [{ key, doc: withLaterFields(doc) }] });
		world.moment += 1;
		const at = partition.tell(network.clock());
		partition.commit({ engine: "newer program", number: this.#stage.count() + 1, at, units: [unit] }, at);
	}

	/** Engines near and far write the same record as fast as they can: nobody may lose for ever. */
	async contend(steps: number): Promise<void> {
		const stage = this.#stage;
		let running = true;
		const write = (node: Node): void => {
			if (!running) return;
			const token = `t${stage.count()}`;
			stage.settle(
				stage.cluster.call(node, 0, (backend) =>
					backend.engine.runner(0).run(asCommand({ op: "writeJournal", name: "hot", token })),
				),
				(heard) => {
					if (heard.kind === "ok") stage.checker.checkToken(token);
					write(node);
				},
			);
		};
		for (const node of stage.cluster.nodes) write(node);
		await stage.world.runUntil(stage.world.time + steps * 10);
		running = false;
		stage.raise();
	}
}
