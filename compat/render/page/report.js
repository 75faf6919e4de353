for (const button of document.querySelectorAll("button"))
  button.onclick = () => navigator.clipboard.writeText(button.previousElementSibling.textContent)
    .then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select and copy by hand"; });
addEventListener("beforeprint", () => { for (const folded of document.querySelectorAll("details")) folded.open = true; });
