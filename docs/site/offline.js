// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Browsers start no worker for a page that was opened as a file. There, the worker of the
// search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      window.__fromWorker = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.loaded = new Promise((resolve) => { frame.onload = () => resolve(frame.contentWindow); });
      const inside = frame.contentDocument;
      inside.open();
      inside.write(
        "<!doctype html><script>postMessage = (data) => parent.__fromWorker(data);" +
        "importScripts = () => {};</" + "script><script src=\"" + new URL(url, document.baseURI) + "\"></" + "script>");
      inside.close();
    }

    postMessage(data) {
      this.loaded.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
