// What the window asks the host to write for others, and to take in from them.
import type {
  Exported,
  ExportedTrace,
  ExportOptions,
  Imported,
  MadeRunnable,
  PageOptions,
  ReceiverRow,
} from './bindings';

export interface SharingHost {
  /** The variables of secrets that are not set, so that what was recorded of them is written as it is. */
  missingSecrets(): Promise<string[]>;
  exportSession(options: ExportOptions): Promise<Exported>;
  /** Writes a request as one HTML page that any browser opens. */
  exportPage(options: PageOptions): Promise<Exported>;
  /** Writes a request as an OpenTelemetry trace: into a file, or to the address of a collector. */
  exportTrace(request: string, to: string, replace: boolean): Promise<ExportedTrace>;
  importFile(file: string): Promise<Imported>;
  /** What that would take in; writes nothing. */
  checkFile(file: string): Promise<Imported>;
  /** Where the traces of other programs are received; null while they are not. */
  traceReceiver(): Promise<ReceiverRow | null>;
  /** Begins or ends receiving them. */
  serve(wanted: boolean): Promise<ReceiverRow | null>;
  /** Writes a flow and a mock script of a request that was received as a trace. */
  runnable(requestId: string, name: string, replace: boolean): Promise<MadeRunnable>;
}
