import type { AdminCalls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import {
	type BackupRequest,
	backupRequest,
	type RotateSecretRequest,
	rotateSecretRequest,
} from "../../contract/keys.ts";
import type { RotatedSecret, ScannersReply } from "../../contract/replies.ts";
import { restrictionOf } from "../../contract/scanners.ts";
import { FORMAT } from "../../kernel/format.ts";
import { isLeftOut } from "../../kernel/record-types.ts";
import { type Snapshot, StoreError } from "../../store/port.ts";
import { exportStore } from "../../store/transfer/export.ts";
import { storeRefusal } from "../partition/store-line.ts";
import type { Session } from "./session.ts";

const READY_MS = 2000;

/** What whoever runs FlowFabric asks. */
export class LocalAdmin implements AdminCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async scanners(): Promise<ScannersReply> {
		const { engine } = this.#session;
		engine.refuseIfClosed();
		this.#refuseBound("the engine's duties concern every namespace");
		const restrictedTo = engine.scannerFilter && restrictionOf(engine.scannerFilter);
		return { scanners: engine.duties.rows(engine.parked), ...(restrictedTo ? { restrictedTo } : undefined) };
	}

	async ready(): Promise<void> {
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const reads = engine.runners.map((runner) => runner.ask((store, partition) => store.read(partition, [])));
		const answers = Promise.all(reads).then(() => engine.writes.check());
		let disarm = () => {};
		const silence = new Promise<never>((_, reject) => {
			const fail = () => reject(new FlowFabricError("store_unavailable", { details: { waitedMs: READY_MS } }));
			disarm = engine.clock.setTimer(READY_MS, fail);
		});
		try {
			await Promise.race([answers, silence]);
		} finally {
			disarm();
		}
	}

	async *backup(request: BackupRequest = {}): AsyncGenerator<string> {
		const { engine } = this.#session;
		engine.refuseIfClosed();
		this.#refuseBound("a backup contains every namespace");
		const { keys = false } = backupRequest.check(request);
		let snapshot: Snapshot | undefined;
		try {
			snapshot = await engine.store.snapshot?.();
			yield* exportStore(snapshot?.store ?? engine.store, {
				format: FORMAT,
				isLeftOut: (key) => isLeftOut(key, keys),
			});
		} catch (error) {
			if (!(error instanceof StoreError)) throw error;
			throw engine.closed ? new FlowFabricError("shutting_down", { cause: error }) : storeRefusal(error);
		} finally {
			await snapshot?.discard();
		}
	}

	async rotateWaitpointSecret(request: RotateSecretRequest = {}): Promise<RotatedSecret> {
		const { engine } = this.#session;
		engine.refuseIfClosed();
		this.#refuseBound("keys apply to every namespace");
		const { ok: _, ...rotated } = await engine.keyring.rotate(rotateSecretRequest.check(request));
		return rotated;
	}

	/** For what concerns all tenants. */
	#refuseBound(why: string): void {
		if (this.#session.caller.namespace === undefined) return;
		throw new FlowFabricError("forbidden", { message: `${why}; this token is bound to one` });
	}
}
